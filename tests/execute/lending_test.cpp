#include "execute/lending.h"

#include <gtest/gtest.h>

#include <vector>

namespace fanlight {
namespace {

TEST(Lending, PaysUntilTwoLooksInARowSayThatItCosts) {
    Lending lending;
    EXPECT_TRUE(lending.saw(30, 4)) << "one may have been interrupted";
    EXPECT_FALSE(lending.saw(30, 4));
    EXPECT_FALSE(lending.saw(30, 4));
    EXPECT_TRUE(lending.saw(5, 4));
    EXPECT_TRUE(lending.saw(30, 4));
    EXPECT_TRUE(lending.saw(5, 4));
    EXPECT_TRUE(lending.saw(30, 4));
    EXPECT_TRUE(lending.saw(40, 38)) << "where all stores are slow a copy is as well";
}

#ifdef __SSE2__
// A look stores to all lines, and the reader has read the one kind since the last look.
TEST(Lending, LooksSoonAndThenNowAndThenAtWhatWasReadSince) {
    ArenaHeader own{};
    Lending lending;
    Reading reading;
    std::vector<int> looks;
    bool was_read = false;
    for (int message = 1; message <= 200; ++message) {
        const std::uint64_t before = own.lines[0].word;
        lending.pays(own);
        if (own.lines[0].word != before) {
            looks.push_back(message);
            EXPECT_TRUE(was_read) << message;
            was_read = false;
        }
        was_read |= reading.go_on(own);
    }
    EXPECT_EQ(looks, (std::vector<int>{2, 4, 8, 16, 32, 64, 96, 128, 160, 192}));
    for (const ArenaHeader::Line& line : own.lines) EXPECT_NE(line.word, 0u);
    EXPECT_EQ(own.magic + own.number + own.used, 0u);
    // Another group's look has taken the lines back.
    own.was_read.word = 0;
    const std::uint64_t last = own.lines[0].word;
    for (int message = 0; message < 100; ++message) EXPECT_TRUE(lending.pays(own));
    EXPECT_EQ(own.lines[0].word, last) << "nobody has read since";
    own.was_read.word = 1;
    lending.pays(own);
    EXPECT_NE(own.lines[0].word, last);
}
#endif

}  // namespace
}  // namespace fanlight

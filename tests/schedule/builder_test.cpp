#include "schedule/builder.h"

#include <gtest/gtest.h>

namespace fanlight {
namespace {

TEST(builder, empty_rounds_are_not_recorded) {
    const Problem p;
    Builder b(p);
    b.next_round();
    b.copy(input(), output(), 8);
    b.next_round();
    b.next_round();
    b.copy(input(8), output(8), 8);
    b.copy(input(16), output(16), 8);
    const Schedule s = b.finish();  // ends the last round
    EXPECT_EQ(s.round_ends, (std::vector<std::uint32_t>{1, 3}));
    EXPECT_EQ(s.round(1).size(), 2u);
    EXPECT_EQ(s.round(1)[0].from, input(8));
}

TEST(builder, nothing_to_do) {
    const Problem p;
    EXPECT_EQ(Builder(p).finish().rounds(), 0u);
}

TEST(builder, scratch_is_aligned_to_cache_lines) {
    const Problem p;
    Builder b(p);
    EXPECT_EQ(b.reserve(10), scratch(0));
    EXPECT_EQ(b.reserve(64), scratch(64));
    EXPECT_EQ(b.reserve(1), scratch(128));
    EXPECT_EQ(b.finish().scratch_bytes, 129u);
}

TEST(builder, offers_are_numbered_and_name_their_readers) {
    Problem p;
    p.size = 4;
    p.rank = 2;
    Builder b(p);
    EXPECT_EQ(b.offer_to(0, input(), 8), 0);
    EXPECT_EQ(b.offer_to_all_others(input(8), 8), 1);
    const Schedule s = b.finish();
    EXPECT_EQ(s.offers, 2);
    EXPECT_EQ(s.steps[1].offer, 1);
    const auto readers = s.readers_of(s.steps[1]);
    EXPECT_EQ(std::vector<int>(readers.begin(), readers.end()), (std::vector<int>{0, 1, 3}));
}

}  // namespace
}  // namespace fanlight

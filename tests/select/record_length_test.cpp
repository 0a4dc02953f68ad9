#include "select/record_length.h"

#include <gtest/gtest.h>

namespace fanlight {
namespace {

// Calls of so many ranks whose longest record, and all together, were so long.
std::size_t after(RecordLength& record, int calls, std::size_t longest, std::size_t total, std::size_t ranks) {
    for (int i = 0; i < calls; ++i) record.follow(longest, total, ranks);
    return record.bytes();
}

TEST(record_length, grows_at_once_and_shrinks_after_a_while) {
    RecordLength record;
    EXPECT_EQ(after(record, 1, 368, 4 * 368, 4), 384u);
    EXPECT_EQ(after(record, 1, 8, 4 * 8, 4), 384u);  // everybody is silent once
    EXPECT_EQ(after(record, 32, 8, 4 * 8, 4), 32u);
    EXPECT_EQ(after(record, 1, 48, 4 * 48, 4), 48u);
}

TEST(record_length, has_room_for_the_longest_of_the_last_calls) {
    RecordLength record;
    for (int i = 0; i < 100; ++i) {
        const std::size_t longest = i % 10 ? 40 : 200;
        record.follow(longest, 2 * longest, 2);
        EXPECT_GE(record.bytes(), i < 10 ? longest : 200u);
    }
}

// One rank has much, the others little: their records would be as long.
TEST(record_length, is_not_all_ranks_for_the_sake_of_one) {
    RecordLength record;
    EXPECT_EQ(after(record, 32, 2000, 2000 + 63 * 8, 64), 32u);
    EXPECT_EQ(after(record, 32, 1000, 64 * 600, 64), 1024u);  // most have as much
    EXPECT_EQ(after(record, 32, 40000, 2 * 40000, 2), 32u);   // too long to be copied twice
}

TEST(record_length, is_one_of_few) {
    std::size_t different = 0, last = 0;
    for (std::size_t longest = 8; longest <= 2048; ++longest) {
        RecordLength record;
        const std::size_t bytes = after(record, 32, longest, 2 * longest, 2);
        EXPECT_GE(bytes, longest);
        EXPECT_LE(bytes, longest + std::max<std::size_t>(longest / 4, 32));
        different += bytes != last;
        last = bytes;
    }
    EXPECT_LE(different, 28u);
}

}  // namespace
}  // namespace fanlight

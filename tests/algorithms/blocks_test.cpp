#include "algorithms/blocks.h"

#include <gtest/gtest.h>

namespace fanlight {
namespace {

Problem blocks_of(std::size_t bytes, std::size_t stride) {
    Problem p;
    p.operation = Operation::allgather;
    p.size = 5;
    p.bytes = bytes;
    p.stride = stride;
    return p;
}

TEST(Runs, join_blocks_that_touch_and_wrap_around) {
    const auto joined = runs(blocks_of(8, 0), 3, 4);
    ASSERT_EQ(joined.size(), 2u);
    EXPECT_EQ(joined[0].offset, 24u);
    EXPECT_EQ(joined[0].bytes, 16u);
    EXPECT_EQ(joined[1].offset, 0u);
    EXPECT_EQ(joined[1].packed, 16u);
    EXPECT_EQ(joined[1].bytes, 16u);
}

TEST(Runs, keep_blocks_apart_that_do_not_touch) {
    const auto apart = runs(blocks_of(8, 100), 3, 4);
    ASSERT_EQ(apart.size(), 4u);
    EXPECT_EQ(apart[1].offset, 400u);
    EXPECT_EQ(apart[3].offset, 100u);
    EXPECT_EQ(apart[3].packed, 24u);
}

TEST(Runs, of_no_bytes_are_still_messages) {
    EXPECT_EQ(runs(blocks_of(0, 0), 1, 3).size(), 1u);
}

TEST(Parts, cover_the_vector_in_whole_elements) {
    for (int size = 1; size <= 20; ++size)
        for (std::size_t elements = 0; elements <= 50; ++elements) {
            Problem p;
            p.size = size;
            p.element = 8;
            p.bytes = elements * 8;
            std::size_t at = 0;
            for (int i = 0; i < size; ++i) {
                const Block block = part(p, i);
                EXPECT_EQ(block.offset, at);
                EXPECT_EQ(block.bytes % 8, 0u);
                EXPECT_LE(block.bytes, (elements / static_cast<std::size_t>(size) + 1) * 8);
                at += block.bytes;
            }
            EXPECT_EQ(at, p.bytes);
        }
}

}  // namespace
}  // namespace fanlight

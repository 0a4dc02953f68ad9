#include "memory/shared_blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "transport/shared.h"

namespace fanlight {
namespace {

constexpr std::uint64_t there = 0x7000'0000'0000;

TEST(SharedBlocks, AreFoundFromTheirFirstByteToTheirLast) {
    std::array<std::byte, 100> own, peers;
    SharedBlocks& blocks = SharedBlocks::here();
    EXPECT_FALSE(blocks.owns(own.data(), 1));
    const auto block = std::make_shared<const SharedBlock>(SharedBlock{own.data(), own.size(), {{7, there, peers.data(), 60, true}, {8, there, nullptr, 0, false}}});
    blocks.add(block);

    EXPECT_TRUE(blocks.owns(own.data(), 100));
    EXPECT_TRUE(blocks.owns(own.data() + 99, 1));
    EXPECT_FALSE(blocks.owns(own.data() + 99, 2));
    EXPECT_FALSE(blocks.owns(own.data() - 1, 2));
    EXPECT_FALSE(blocks.owns(own.data(), SIZE_MAX));

    EXPECT_TRUE(blocks.reached_by(7, own.data() + 1, 99));
    EXPECT_FALSE(blocks.reached_by(7, own.data() + 1, 100));
    EXPECT_FALSE(blocks.reached_by(8, own.data(), 100)) << "it cannot";
    EXPECT_FALSE(blocks.reached_by(9, own.data(), 100)) << "nobody knows it";

    EXPECT_EQ(blocks.at(7, there, 60), peers.data());
    EXPECT_EQ(blocks.at(7, there + 59, 1), peers.data() + 59);
    EXPECT_EQ(blocks.at(7, there + 59, 2), nullptr);
    EXPECT_EQ(blocks.at(7, there - 1, 2), nullptr);
    EXPECT_EQ(blocks.at(8, there, 1), nullptr) << "another one's";

    blocks.remove(block.get());
    EXPECT_FALSE(blocks.owns(own.data(), 1));
    EXPECT_EQ(blocks.at(7, there, 1), nullptr);
}

TEST(SharedBlocks, LieBeforeAnArenaAsWellAsBehindIt) {
    for (const std::int64_t distance : {std::int64_t{0}, std::int64_t{123}, std::int64_t{-1}, std::int64_t{-0x7ff'1234'5678}, std::int64_t{0x7ff'1234'5678}}) {
        const std::uint64_t word = where_and_bytes(static_cast<std::uint64_t>(distance), (1 << 20) - 1);
        EXPECT_EQ(distance_of(word), distance);
        EXPECT_EQ(bytes_of(word), std::size_t{(1 << 20) - 1});
    }
}

}  // namespace
}  // namespace fanlight

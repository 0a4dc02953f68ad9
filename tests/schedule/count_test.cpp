#include "schedule/count.h"

#include <gtest/gtest.h>

#include "samples.h"

namespace fanlight {
namespace {

TEST(count, chain) {
    const auto s = samples::chain_broadcast(4, 8);
    const Counts c = count(s.ranks);
    EXPECT_EQ(c.messages, 3u);
    EXPECT_EQ(c.signals, 0u);
    EXPECT_EQ(c.bytes, 24u);
    EXPECT_EQ(c.bytes_between_nodes, 0u);
    EXPECT_EQ(c.copied, 8u);
    EXPECT_EQ(c.rounds, 2u);
    EXPECT_EQ(c.depth, 3u);
}

TEST(count, between_nodes) {
    const auto s = samples::chain_broadcast(4, 8);
    const int apart[] = {0, 0, 1, 1};
    EXPECT_EQ(count(s.ranks, apart).messages_between_nodes, 1u);
    EXPECT_EQ(count(s.ranks, apart).bytes_between_nodes, 8u);
    const int interleaved[] = {0, 1, 0, 1};
    EXPECT_EQ(count(s.ranks, interleaved).bytes_between_nodes, 24u);
}

TEST(count, gets_and_combines) {
    const auto all = samples::offered_allgather(5, 8);
    EXPECT_EQ(count(all.ranks).messages, 20u);
    EXPECT_EQ(count(all.ranks).depth, 1u);
    const auto reduce = samples::linear_allreduce(4, 8, 8);
    EXPECT_EQ(count(reduce.ranks).combined, 24u);
    EXPECT_EQ(count(reduce.ranks).depth, 2u);
}

TEST(count, signals) {
    const auto s = samples::signal_barrier(4);
    const int nodes[] = {0, 0, 0, 1};
    EXPECT_EQ(count(s.ranks, nodes).signals, 12u);
    EXPECT_EQ(count(s.ranks, nodes).signals_between_nodes, 6u);
    EXPECT_EQ(count(s.ranks, nodes).messages, 0u);
}

TEST(count, one_rank) {
    EXPECT_EQ(count(samples::signal_barrier(1).ranks), Counts{});
}

TEST(count, says_what_is_wrong) {
    auto s = samples::chain_broadcast(3, 8);
    const int nodes[] = {0, 1};
    EXPECT_THROW(
        {
            try {
                count(s.ranks, nodes);
            } catch (const std::invalid_argument& error) {
                EXPECT_STREQ(error.what(), "the node map is for 2 ranks, there are 3");
                throw;
            }
        },
        std::invalid_argument);
    samples::erase(s.ranks[1], samples::find(s.ranks[1], StepKind::put));
    EXPECT_THROW(count(s.ranks), std::invalid_argument);
}

}  // namespace
}  // namespace fanlight

#include "schedule/count.h"

#include <gtest/gtest.h>

#include "samples.h"

namespace fanlight {
namespace {

TEST(count, chain) {
    const auto s = samples::chain_broadcast(4, 8);
    const Counts c = count(s.ranks);
    EXPECT_EQ(c.all.messages, 3u);
    EXPECT_EQ(c.all.signals, 0u);
    EXPECT_EQ(c.all.bytes, 24u);
    EXPECT_TRUE(c.between.empty());
    EXPECT_EQ(c.copied, 8u);
    EXPECT_EQ(c.rounds, 2u);
    EXPECT_EQ(c.depth, 3u);
}

TEST(count, between_domains) {
    const auto s = samples::chain_broadcast(4, 8);
    EXPECT_EQ(count(s.ranks, Topology::from("2x2", 4)).between, (std::vector<Traffic>{{1, 0, 8}}));
    EXPECT_EQ(count(s.ranks, Topology::from("2x2:cyclic", 4)).between, (std::vector<Traffic>{{3, 0, 24}}));
    EXPECT_EQ(count(s.ranks, Topology::from("1x(3+1)", 4)).between, (std::vector<Traffic>{{0, 0, 0}, {1, 0, 8}}));
}

TEST(count, gets_and_combines) {
    const auto all = samples::offered_allgather(5, 8);
    EXPECT_EQ(count(all.ranks).all.messages, 20u);
    EXPECT_EQ(count(all.ranks).depth, 1u);
    const auto reduce = samples::linear_allreduce(4, 8, 8);
    EXPECT_EQ(count(reduce.ranks).combined, 24u);
    EXPECT_EQ(count(reduce.ranks).depth, 2u);
}

TEST(count, signals) {
    const auto s = samples::signal_barrier(4);
    const Counts c = count(s.ranks, Topology::from("3+1", 4));
    EXPECT_EQ(c.all, (Traffic{0, 12, 0}));
    EXPECT_EQ(c.between, (std::vector<Traffic>{{0, 6, 0}}));
}

TEST(count, one_rank) {
    EXPECT_EQ(count(samples::signal_barrier(1).ranks), Counts{});
}

TEST(count, says_what_is_wrong) {
    auto s = samples::chain_broadcast(3, 8);
    EXPECT_THROW(
        {
            try {
                count(s.ranks, Topology::from("2x1", 2));
            } catch (const std::invalid_argument& error) {
                EXPECT_STREQ(error.what(), "the topology is of 2 ranks, there are 3");
                throw;
            }
        },
        std::invalid_argument);
    samples::erase(s.ranks[1], samples::find(s.ranks[1], StepKind::put));
    EXPECT_THROW(count(s.ranks), std::invalid_argument);
}

}  // namespace
}  // namespace fanlight

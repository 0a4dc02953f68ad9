#include "schedule/cost.h"

#include <gtest/gtest.h>

#include "samples.h"

namespace fanlight {
namespace {

// Whole numbers, so that the sums can be done by hand.
constexpr CostModel model{{.latency = 100, .overhead = 10, .gap = 20, .per_byte = 1},
                          {.latency = 1000, .overhead = 50, .gap = 100, .per_byte = 2},
                          0.5,   // copy
                          3};    // combine

TEST(cost, one_message) {
    const auto s = samples::chain_broadcast(2, 8);
    // The root's copy (4), o (10), the bytes (8), L (100), o (10).
    EXPECT_DOUBLE_EQ(cost(s.ranks, model).seconds, 4 + 10 + 8 + 100 + 10);
    EXPECT_DOUBLE_EQ(cost(s.ranks, model).finish[0], 4 + 10 + 8);
    EXPECT_DOUBLE_EQ(cost(s.ranks, model, Topology::from("2x1", 2)).seconds, 4 + 50 + 16 + 1000 + 50);
}

TEST(cost, a_chain_adds_up) {
    const auto s = samples::chain_broadcast(5, 8);
    EXPECT_DOUBLE_EQ(cost(s.ranks, model).seconds, 4 + 4 * (10 + 8 + 100 + 10));
}

TEST(cost, one_get) {
    const auto s = samples::offered_allgather(2, 8);
    // Both copy (4) and have offered before that; the offer is there at L (100), then
    // o (10), the bytes (8) and L (100).
    EXPECT_DOUBLE_EQ(cost(s.ranks, model).seconds, 100 + 10 + 8 + 100);
}

TEST(cost, messages_to_one_rank_follow_one_another) {
    // Nine vectors of 1000 bytes come to the root: its port takes 1000 for each, and each
    // waits for the one before to be combined (3 for each byte).
    const auto s = samples::linear_reduce(10, 1000, 8);
    EXPECT_GE(cost(s.ranks, model).seconds, 9 * 3000 + 1000 + 100);
    const auto all = samples::offered_allgather(10, 1000);
    EXPECT_GE(cost(all.ranks, model).seconds, 9 * 1000 + 200);
}

TEST(cost, nothing_costs_nothing) {
    EXPECT_EQ(cost(samples::signal_barrier(1).ranks).seconds, 0);
}

TEST(cost, longer_messages_and_more_nodes_cost_more) {
    const double near = cost(samples::direct_alltoall(8, 64).ranks).seconds;
    const double far = cost(samples::direct_alltoall(8, 64).ranks, {}, Topology::from("8x1", 8)).seconds;
    const double large = cost(samples::direct_alltoall(8, 65536).ranks).seconds;
    EXPECT_LT(near, far);
    EXPECT_LT(near, large);
}

}  // namespace
}  // namespace fanlight

#include "schedule/problem.h"

#include <gtest/gtest.h>

#include "schedule/all_ranks.h"

namespace fanlight {
namespace {

TEST(problem, names_of_operations) {
    EXPECT_EQ(to_string(Operation::reduce_scatter_block), "reduce-scatter-block");
    EXPECT_EQ(operation_from("reduce-scatter-block"), Operation::reduce_scatter_block);
    EXPECT_EQ(operation_from("reduce_scatter_block"), Operation::reduce_scatter_block);
    for (std::size_t i = 0; i < operation_count(); ++i) {
        const auto operation = static_cast<Operation>(i);
        EXPECT_EQ(operation_from(to_string(operation)), operation);
    }
}

TEST(problem, unknown_operation_names_those_that_exist) {
    try {
        operation_from("broadcast");
        FAIL();
    } catch (const std::invalid_argument& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("'broadcast'"), std::string::npos);
        EXPECT_NE(text.find("bcast, reduce, allreduce"), std::string::npos);
    }
}

TEST(problem, properties_of_operations) {
    EXPECT_EQ(family_of(Operation::barrier), Family::signal);
    EXPECT_EQ(family_of(Operation::scan), Family::vector);
    EXPECT_EQ(family_of(Operation::alltoall), Family::blocks);
    EXPECT_EQ(family_of(Operation::gatherv), Family::blocks_v);
    EXPECT_EQ(family_of(Operation::neighbor_allgather), Family::neighbors);
    int rooted = 0, reducing = 0;
    for (std::size_t i = 0; i < operation_count(); ++i) {
        rooted += has_root(static_cast<Operation>(i));
        reducing += reduces(static_cast<Operation>(i));
    }
    EXPECT_EQ(rooted, 6);
    EXPECT_EQ(reducing, 6);
}

TEST(problem, blocks) {
    Problem p;
    p.size = 4;
    p.bytes = 10;
    EXPECT_EQ(p.block(3), (Block{30, 10}));
    EXPECT_TRUE(p.contiguous_blocks());
    p.stride = 16;
    EXPECT_EQ(p.block(3), (Block{48, 10}));
    EXPECT_FALSE(p.contiguous_blocks());
}

TEST(problem, a_rank_of_gatherv_knows_its_own_length_alone) {
    Problem p;
    p.operation = Operation::gatherv;
    p.size = 3;
    p.root = 1;
    p.blocks = {{0, 4}, {8, 2}, {16, 6}};
    EXPECT_EQ(problem_at(p, 1).blocks, p.blocks);
    EXPECT_EQ(problem_at(p, 2).blocks, (std::vector<Block>{{0, 0}, {0, 0}, {0, 6}}));
    p.operation = Operation::allgatherv;
    EXPECT_EQ(problem_at(p, 2).blocks, p.blocks);
}

TEST(problem, a_rank_of_a_neighborhood_knows_its_own_edges_alone) {
    Problem p;
    p.operation = Operation::neighbor_alltoallv;
    p.size = 3;
    set_edges(p, {{.from = 0, .to = 1, .bytes = 8}, {.from = 2, .to = 0, .bytes = 4}, {.from = 0, .to = 1, .bytes = 2}}, 1);
    const Problem own = problem_at(p, 1);
    ASSERT_EQ(own.edges.size(), 2u);
    EXPECT_EQ(own.edges[1], (Edge{0, 1, 2, 0, 9}));
    EXPECT_EQ(problem_at(p, 0).edges[2], (Edge{0, 1, 2, 9, 0}));
    p.operation = Operation::neighbor_alltoall;
    EXPECT_EQ(problem_at(p, 1).edges[1].sent, 9u);
}

TEST(problem, a_rank_of_alltoallv_knows_its_own_lists_alone) {
    Problem p;
    p.operation = Operation::alltoallv;
    p.size = 2;
    set_exchange(p, std::vector<std::size_t>{1, 2, 3, 4}, 8);
    const Problem one = problem_at(p, 1);
    EXPECT_EQ(one.sends, (std::vector<Block>{{0, 3}, {11, 4}}));
    EXPECT_EQ(one.blocks, (std::vector<Block>{{0, 2}, {10, 4}}));
    EXPECT_EQ(one.send(0), (Block{0, 3}));
    EXPECT_EQ(one.block(0), (Block{0, 2}));
}

}  // namespace
}  // namespace fanlight

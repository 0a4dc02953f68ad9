// The catalogue itself, and what the papers say about the algorithms' counts.
#include <gtest/gtest.h>

#include <set>

#include "algorithms/registry.h"

namespace fanlight {
namespace {

Problem broadcast(int size, int root) {
    Problem p;
    p.operation = Operation::bcast;
    p.size = size;
    p.root = root;
    p.bytes = 1000;
    return p;
}

long puts(const Algorithm& algorithm, Problem problem) {
    long count = 0;
    for (problem.rank = 0; problem.rank < problem.size; ++problem.rank)
        for (const Step& step : algorithm.schedule(problem).steps)
            count += step.kind == StepKind::put;
    return count;
}

// The scatter in front of the ring takes one message for each rank but the root.
long in_ring(std::string_view name, int size, int root) {
    const Algorithm* algorithm = find_algorithm(Operation::bcast, name);
    return puts(*algorithm, broadcast(size, root)) - (size - 1);
}

TEST(Registry, names_have_both_spellings) {
    const Algorithm* with_dash = find_algorithm(Operation::bcast, "pruned-ring");
    ASSERT_NE(with_dash, nullptr);
    EXPECT_EQ(with_dash, find_algorithm(Operation::bcast, "pruned_ring"));
    EXPECT_EQ(with_dash->name, "pruned-ring");
    EXPECT_EQ(find_algorithm(Operation::barrier, "pruned_ring"), nullptr);
}

TEST(Registry, every_operation_has_an_algorithm_without_restrictions) {
    std::set<Operation> served;
    for (const Algorithm& a : algorithms())
        if (!a.power_of_two && !a.commutative) served.insert(a.operation);
    EXPECT_EQ(served.size(), operation_count());
}

TEST(Registry, every_row_is_complete_and_its_name_is_unique) {
    std::set<std::pair<Operation, std::string_view>> seen;
    for (const Algorithm& a : algorithms()) {
        EXPECT_TRUE(seen.insert({a.operation, a.name}).second) << a.name;
        EXPECT_FALSE(a.description.empty()) << a.name;
        EXPECT_FALSE(a.paper.empty()) << a.name;
    }
}

TEST(Registry, restrictions_are_told_in_words) {
    const Algorithm* halving =
        find_algorithm(Operation::reduce_scatter_block, "recursive-halving");
    Problem p;
    p.operation = Operation::reduce_scatter_block;
    p.size = 8;
    EXPECT_EQ(restriction(*halving, p), "");
    p.commutative = false;
    EXPECT_EQ(restriction(*halving, p),
              "reduce-scatter-block/recursive-halving needs an operator that commutes");
    p.size = 6;
    EXPECT_EQ(restriction(*halving, p),
              "reduce-scatter-block/recursive-halving needs a power of two of ranks, and there "
              "are 6");
    p.operation = Operation::scan;
    EXPECT_EQ(restriction(*halving, p),
              "reduce-scatter-block/recursive-halving is no algorithm for scan");
}

TEST(PrunedRing, saves_the_papers_messages) {
    for (int root : {0, 3, 7}) {
        EXPECT_EQ(in_ring("scatter_ring_allgather", 8, root), 56);
        EXPECT_EQ(in_ring("pruned_ring", 8, root), 44);
        EXPECT_EQ(in_ring("scatter_ring_allgather", 10, root), 90);
        EXPECT_EQ(in_ring("pruned_ring", 10, root), 75);
    }
}

}  // namespace
}  // namespace fanlight

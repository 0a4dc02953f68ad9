// The catalogue itself, and what the papers say about the algorithms' counts.
#include <gtest/gtest.h>

#include <set>

#include "algorithms/registry.h"
#include "schedule/all_ranks.h"
#include "schedule/all_ranks.h"

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

TEST(Registry, an_odd_number_of_ranks_is_refused_in_words) {
    Problem p;
    p.operation = Operation::allgather;
    p.size = 6;
    const Algorithm* exchange = find_algorithm(Operation::allgather, "neighbor-exchange");
    EXPECT_EQ(restriction(*exchange, p), "");
    p.size = 7;
    EXPECT_EQ(restriction(*exchange, p),
              "allgather/neighbor-exchange needs an even number of ranks, and there are 7");
}

TEST(Registry, every_operation_has_an_algorithm_without_restrictions) {
    std::set<Operation> served;
    for (const Algorithm& a : algorithms())
        if (!a.has(property::power_of_two) && !a.has(property::even) && !a.has(property::commutative)) served.insert(a.operation);
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

TEST(Registry, rows_say_which_parameters_they_take) {
    const Algorithm* tree = find_algorithm(Operation::bcast, "tree");
    EXPECT_TRUE(tree->takes("degree"));
    EXPECT_TRUE(tree->takes("piece"));
    EXPECT_FALSE(tree->takes("shift"));
    EXPECT_FALSE(find_algorithm(Operation::barrier, "tree")->takes("piece"));
    EXPECT_TRUE(tree->has(property::pipelined));
    EXPECT_FALSE(find_algorithm(Operation::bcast, "binomial")->has(property::pipelined));
}

// A parameter that a row does not name leaves the schedules as they are, and one that it names
// does not.
TEST(Registry, rows_name_what_their_schedules_depend_on) {
    const auto steps = [](const Algorithm& a, Parameters parameters, const Topology& topology = {}) {
        Problem p;
        p.operation = a.operation;
        p.size = 8;
        p.bytes = 20000;
        p.parameters = parameters;
        p.topology = topology;
        if (a.operation == Operation::alltoallv)
            set_exchange(p, std::vector<std::size_t>(64, 8));
        else if (family_of(a.operation) == Family::blocks_v)
            for (std::size_t r = 0; r < 8; ++r) p.blocks.push_back(r < 7 ? Block{8 * r, 8} : Block{56, 20000});
        if (family_of(a.operation) == Family::neighbors) set_ring(p, 8);
        std::vector<std::pair<int, std::size_t>> result;
        for (int rank = 0; rank < p.size; ++rank)
            for (const Step& s : a.schedule(problem_at(p, rank)).steps) result.emplace_back(s.peer, s.from.offset);
        return result;
    };
    const auto depends_on = [&](const Algorithm& a, Parameters parameters) {
        const Topology two_nodes = Topology::from("2x4", 8);
        return steps(a, {}) != steps(a, parameters) || steps(a, {}, two_nodes) != steps(a, parameters, two_nodes);
    };
    for (const Algorithm& a : algorithms()) {
        SCOPED_TRACE(std::string(to_string(a.operation)) + " " + std::string(a.name));
        const auto plain = steps(a, {});
        EXPECT_EQ(depends_on(a, {.degree = 8}), a.takes("degree"));
        EXPECT_EQ(depends_on(a, {.minimum = 10000}) || depends_on(a, {.minimum = 4}), a.takes("minimum"));
        EXPECT_EQ(depends_on(a, {.shift = 3}), a.takes("shift"));
        // Uneven, or even: an algorithm may need domains of one size.
        EXPECT_EQ(plain != steps(a, {}, Topology::from("3x*", 8)) || plain != steps(a, {}, Topology::from("2x4", 8)), a.has(property::levels));
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

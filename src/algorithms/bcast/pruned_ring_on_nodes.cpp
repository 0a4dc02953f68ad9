// Aware of nodes: the vector goes down a binomial tree in the root's node, by a pruned ring from
// node to node, then down a binomial tree in each of the other nodes.  A node is represented by the
// root where it has it, else by its first rank.  With 7 ranks, 3 of them on a node:
//
//     0 -> 1      first; then the ring among 0, 3 and 6; then   3 -> 4
//     +--> 2                                                    +--> 5
//
// Fewer messages between the nodes than a ring of all ranks, and inside a node each vector whole.
// Source: Pruned ring I and III (what MPICH does for medium messages and ranks that are no power of
// two, with the pruned ring of IV).  Any number of ranks; the last node may have fewer.
#include <algorithm>

#include "algorithms/declarations.h"

namespace fanlight::bcast_algorithms {
namespace {

constexpr int default_ranks_per_node = 4;

struct Nodes {
    const Problem& problem;
    const int each = problem.parameters.ranks_per_node > 0 ? problem.parameters.ranks_per_node : default_ranks_per_node;
    int count() const { return (problem.size + each - 1) / each; }
    int node(int rank) const { return rank / each; }
    int first(int n) const { return n * each; }
    int ranks(int n) const { return std::min(each, problem.size - first(n)); }
    int representative(int n) const { return n == node(problem.root) ? problem.root : first(n); }
};

Problem among(const Problem& whole, int rank, int size, int root) {
    Problem p;
    p.operation = whole.operation;
    p.rank = rank;
    p.size = size;
    p.root = root;
    p.bytes = whole.bytes;
    return p;
}

// Adds the rounds of a schedule among some of the ranks; it has no offers.  `change` sees each step,
// and says whether it is wanted.
template <class RankOf, class Change>
void append(Schedule& to, const Schedule& rounds, RankOf&& rank_of, Change&& change) {
    for (std::size_t i = 0; i < rounds.rounds(); ++i) {
        for (Step step : rounds.round(i)) {
            if (step.peer >= 0) step.peer = rank_of(step.peer);
            if (change(step)) to.steps.push_back(step);
        }
        if (to.steps.size() > (to.round_ends.empty() ? 0 : to.round_ends.back()))
            to.round_ends.push_back(static_cast<std::uint32_t>(to.steps.size()));
    }
}

}  // namespace

Schedule pruned_ring_on_nodes(const Problem& problem) {
    const Nodes nodes{problem};
    const int here = nodes.node(problem.rank), first = nodes.first(here);
    const int root_node = nodes.node(problem.root), representative = nodes.representative(here);
    Schedule result;
    const auto inside = [&] {
        const Problem p = among(problem, problem.rank - first, nodes.ranks(here), representative - first);
        append(result, binomial(p), [&](int r) { return first + r; }, [&](Step& step) {
            // Only the root's input has the vector.
            if (step.kind == StepKind::put && representative != problem.root) step.from.buffer = Buffer::output;
            return step.kind != StepKind::copy;  // the root's, which is also the ring's
        });
    };
    if (here == root_node) inside();
    if (problem.rank == representative)
        append(result, pruned_ring(among(problem, here, nodes.count(), root_node)),
               [&](int n) { return nodes.representative(n); }, [](const Step&) { return true; });
    if (here != root_node) inside();
    return result;
}

}  // namespace fanlight::bcast_algorithms

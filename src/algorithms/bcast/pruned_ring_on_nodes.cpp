// Aware of nodes: the vector goes down a binomial tree in the root's node, by a pruned ring from node to node, then down a
// binomial tree in each of the other nodes.  The root represents its node, the first rank any other.  With the topology
// 3+3+1:
//
//     0 -> 1      first; then the ring among 0, 3 and 6; then   3 -> 4
//     +--> 2                                                    +--> 5
//
// Fewer messages between the nodes than in a ring of all ranks; inside a node whole vectors travel.
// Source: Pruned ring I and III (what MPICH does for medium messages and ranks that are no power of two, with the pruned
// ring of IV).  Any topology; it uses the outermost level.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::bcast_algorithms {

Schedule pruned_ring_on_nodes(const Problem& problem) {
    Problem of_nodes = problem;
    const bool several = problem.topology.levels() > 0 && problem.topology.level(0).count() > 1;
    of_nodes.topology = several ? Topology({problem.topology.level(0)}) : Topology();
    Levels levels(of_nodes);
    Levels::Groups roots_node, others;
    if (levels.last() > 0)
        for (const Levels::Group& group : levels.stages()[0])
            (group.ranks[static_cast<std::size_t>(group.root)] == problem.root ? roots_node : others).push_back(group);

    const Problem part = levels.part(Operation::bcast, problem.bytes);
    levels.add(binomial, part, roots_node, levels.from_root());
    levels.between(several ? pruned_ring : binomial, Operation::bcast, problem.bytes, levels.from_root());
    levels.add(binomial, part, others, levels.from_root());
    return levels.finish();
}

}  // namespace fanlight::bcast_algorithms

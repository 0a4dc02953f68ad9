// An operation on a communicator whose ranks are on several nodes, as phases: inside the nodes
// through shared memory, between them one rank of each node, its representative.
//
//   bcast        between the nodes from the root; in each node from its representative
//   reduce       in each node to its representative; between the nodes to the root
//   allreduce    in each node to its leader; between the leaders; in each node from its leader
//   allgather(v) in each node to its leader; between the leaders; in each node from its leader
//   gather       in each node to its representative; between the nodes to the root
//   scatter      between the nodes from the root; in each node from its representative
//   barrier      in each node, between the leaders, in each node
//
// The representative is the root in its own node, else the node's leader, its lowest rank.  With
// bcast's pruned-ring between the nodes this is the pruned ring's multi-core-aware form (Pruned
// ring III), but for the root's node, which gets its copy while the others get theirs.
//
// Blocks travel in the order of the nodes.  Where that is not the order of the ranks, those who
// hold all blocks put them into order: any map of ranks to nodes will do.  A reduction's
// bracketing follows from the problem and the map alone.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "execute/group.h"
#include "execute/remote.h"
#include "topology/nodes.h"

namespace fanlight {

// Whether the operation can be composed: not where an operator that does not commute would
// meet operands in another order than the ranks'.
bool composes(const Problem&, const NodeMap&);

class Composition {
public:
    // What runs inside a node; it must not depend on anything that differs inside it.
    using NodePlan = std::function<Plan(const Problem&)>;

    // `algorithm` runs between the nodes (for allgather and gather of uneven nodes its namesake
    // of the v form).  `remote` must outlive this.  All ranks; throws std::invalid_argument on
    // all alike.  `node` is null where this rank is alone on its node.
    Composition(const Algorithm& algorithm, const Problem&, const NodeMap&, Group* node, RemoteGroup& remote,
                const NodePlan&);

    void run(const void* input, void* output, const Combiner*);

private:
    struct Copies {
        std::vector<Block> from, to;
    };
    struct Phase {
        std::variant<Plan, RemotePlan, Copies> what;
        Address from, to;
    };

    void barrier();
    void bcast();
    void reduce();
    void allreduce();
    void allgather();
    void gather();
    void scatter();

    void in_node(Problem, int root, Address from, Address to);
    void between(Problem, Address from, Address to);
    void reorder(Address from, Address to, bool to_ranks);
    Problem vector_problem(Operation, std::size_t bytes) const;
    Problem blocks_in_node(Operation) const;
    Problem blocks_between(Operation even, Operation uneven) const;
    int representative(int node) const;
    bool represents() const { return representative(map_.node(whole_.rank)) == whole_.rank; }

    const Algorithm& algorithm_;
    const Problem whole_;
    const NodeMap& map_;
    Group* const node_;
    RemoteGroup& remote_;
    const NodePlan& node_plan_;
    std::vector<int> representatives_;
    std::vector<std::size_t> place_;     // of each rank's block in the order of the nodes
    std::vector<Block> node_blocks_;     // of each node's blocks in that order
    std::size_t total_ = 0;

    std::vector<Phase> phases_;
    std::size_t scratch_bytes_ = 0;
    std::vector<std::byte> scratch_;
};

}  // namespace fanlight

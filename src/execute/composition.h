// An operation on a communicator whose ranks are on several nodes, as phases: inside the nodes
// through shared memory, between them messages or windows.
//
// By representatives: between the nodes is one rank of each.
//
//   bcast        between the nodes from the root; in each node from its representative
//   reduce       in each node to its representative; between the nodes to the root
//   allreduce    in each node to its leader; between the leaders; in each node from its leader
//   allgather(v) in each node to its leader; between the leaders; in each node from its leader
//   gather       in each node to its representative; between the nodes to the root
//   scatter      between the nodes from the root; in each node from its representative
//   barrier      in each node, between the leaders, in each node
//   reduce_scatter(_block)
//                in each node to its leader; between the leaders; in each node from its leader
//   scan, exscan in each node; what the nodes' last ranks come to between these (an exscan); in each
//                node from its last rank, and each rank combines
//
// The representative is the root in its own node, of scans the node's last rank, else the node's
// leader, its lowest rank.
// With bcast's pruned-ring between the nodes this is the pruned ring's multi-core-aware form
// (Pruned ring III), but for the root's node, which gets its copy while the others get
// theirs.
//
// Blocks travel in the order of the nodes.  Where that is not the order of the ranks, those who
// hold all blocks put them into order: any map of ranks to nodes will do.
//
// In lanes, where all nodes have equally many ranks: lane i has rank i of each node, and each lane
// moves its part between the nodes, so that no core is idle and none has to move everything.
//
//   allgather(v) in each lane; in each node the blocks of each node in turn
//   alltoall     in each lane what is for a node as one block; in each node what came from each
//   reduce_scatter(_block)
//                in each node the blocks of each node in turn; in each lane
//
// Of vectors the catalogue has these as multi-lane.  A reduction's bracketing follows from the problem and the
// map alone.  Source of the lanes:
// Träff, Hunold 2020 (decomposing MPI collectives for multi-lane communication).
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "execute/group.h"
#include "execute/reach.h"
#include "schedule/topology.h"

namespace fanlight {

// Whether the operation can be composed by representatives: not where an operator that does not
// commute would meet operands in another order than the ranks', nor a scan where others' ranks lie
// between those of a node.
bool composes(const Problem&, const Domains&);
bool composes_in_lanes(const Problem&, const Domains&);
// Where an element of the program's is too long to be staged it depends on the node whether there
// is another way, and all nodes must decide alike.
bool elements_find_room(const Problem&);

class Composition {
public:
    // What runs inside a node; it must not depend on anything that differs inside it.
    using NodePlan = std::function<Plan(const Problem&)>;

    // `algorithm` runs between the nodes (for allgather and gather of uneven nodes its namesake
    // of the v form), in the group `across`, of this rank alone, which must outlive this and is `reach`ed by the
    // others; lanes need messages: windows are all ranks' together, and the lanes' parts may differ.  All
    // ranks; throws std::invalid_argument on all alike.  `node` is null where this rank is alone on its node.
    enum class By { representatives, lanes };
    Composition(By, const Algorithm& algorithm, const Problem&, const Domains&, Group* node, Group& across, const Reach& reach,
                const NodePlan&);

    void run(const void* input, void* output, const Combiner*);

private:
    struct Copies {
        std::vector<Block> from, to;
    };
    struct Combination {  // to = from (+) right
        std::size_t bytes;
        Address right;
    };
    struct Phase {
        std::variant<Plan, Copies, Combination> what;
        Address from, to;
        bool between = false;    // a plan: between the nodes
        bool with_next = false;  // the next one is done while this one's messages are under way
    };

    void by_representatives();
    void barrier();
    void bcast();
    void reduce();
    void allreduce();
    void allgather();
    void gather();
    void scatter();
    void reduce_scatter();
    void scan();

    // lanes.cpp
    void in_lanes();
    void allgather_in_lanes();
    void alltoall_in_lanes();
    void reduce_scatter_in_lanes();
    Problem blocks_of_node(Operation, int node) const;

    void in_node(Problem, int root, Address from, Address to);
    void between(Problem, Address from, Address to);
    void reorder(Address from, Address to, bool to_ranks);
    void combine(Address left, Address right, Address to);  // the vector
    void together();  // the last phase, and the next one while its messages are under way
    Problem vector_problem(Operation, std::size_t bytes) const;
    Problem blocks_in_node(Operation) const;
    Problem blocks_between(Operation even, Operation uneven) const;
    int representative(int node) const;
    bool represents() const { return members_[static_cast<std::size_t>(here())] == whole_.rank; }
    int here() const { return map_.of(whole_.rank); }
    bool at_root() const { return here() == map_.of(whole_.root); }
    // So much more scratch memory.
    Address reserve(std::size_t bytes);

    const Algorithm& algorithm_;
    const Problem whole_;
    const Domains& map_;
    Group* const node_;
    Group& across_;
    Reach reach_;
    const NodePlan& node_plan_;
    std::vector<int> members_;           // between the nodes: of each one, the representative or this lane's
    std::vector<std::size_t> place_;     // of each rank's block in the order of the nodes
    std::vector<Block> node_blocks_;     // of each node's blocks in that order
    std::size_t total_ = 0;

    std::vector<Phase> phases_;
    std::size_t scratch_bytes_ = 0;
    std::vector<std::byte> scratch_;
};

}  // namespace fanlight

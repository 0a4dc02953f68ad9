// A communicator that Fanlight serves: its groups, and what was decided for each kind of call.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "algorithms/registry.h"
#include "collective/mpi_header.h"
#include "collective/neighborhood.h"
#include "collective/reason.h"
#include "collective/workspace.h"
#include "execute/group.h"
#include "memory/segment.h"
#include "schedule/problem.h"
#include "select/record_length.h"
#include "select/select.h"
#include "schedule/topology.h"

namespace fanlight {

// What happens to one kind of call: a plan, or the reason why the MPI library serves it.
struct Decision {
    const Algorithm* algorithm = nullptr;  // null: the MPI library
    std::string_view text;                 // its name, with those of its levels
    Parameters parameters;
    Transport transport = Transport::shared;  // on several nodes: between them
    Plan plan;                             // empty where lengths are not known
    Group* across = nullptr;               // runs it, where not all ranks share memory
    std::size_t bytes = 0;
    Reason reason = Reason::none;
};

// The kinds of call: what MPI guarantees to be the same on all ranks, and nothing else.
struct Kind {
    Operation operation{};
    int root = 0;
    std::size_t bytes = 0;             // the vector, or one block
    std::size_t element = 1;
    bool commutative = true;
    std::vector<std::size_t> blocks = {};   // allgatherv, reduce_scatter: the length of each rank's
    friend bool operator==(const Kind&, const Kind&) = default;
};
struct KindHash {
    std::size_t operator()(const Kind&) const;
};

// The last call of an operation as the program wrote it, so that the same call again needs no
// look at datatypes and operators.  Only with named datatypes and operators, whose handles
// always mean the same.
struct LastCall {
    const Decision* decision = nullptr;
    MPI_Count count = -1, other_count = -1;
    MPI_Datatype datatype{}, other_datatype{};
    MPI_Op op{};
    int root = -1;
    Combiner combiner{};
    const Plan* plan = nullptr;  // neighborhoods, whose decisions have none
    // allgatherv, reduce_scatter: what the arrays were.
    std::vector<std::ptrdiff_t> counts = {}, places = {};
    std::size_t size = 0, other_size = 0;  // allgatherv: of the datatypes
};

// How the ranks of a node share it.
struct Sharing {
    bool single_copy = false;
    int ranks = 1;  // that share the cores
    int cores = 0;
};

// A group and the segment that it lives in.
class SharedGroup {
public:
    // All but the segment's address and the rank: agreed on by all ranks.
    SharedGroup(Segment, int rank, int size, const Sharing&, SharedLanes::Room);
    ~SharedGroup();

private:
    Segment segment_;  // before the group

public:
    Group group;
};

// Of this rank alone, which messages or windows connect with all others.
struct LoneGroup {
    LoneGroup(std::shared_ptr<RemoteTransport>, const Sharing&);
    Segment memory;
    Group group;
};

class PrivateCommunicator;

class Serving {
public:
    // `shared` are the ranks of this rank's node, null where it is alone; `oversubscribed` and
    // `single_copy` hold for all nodes.
    Serving(MPI_Comm, Topology, std::unique_ptr<SharedGroup> shared, int rank, const Sharing&, bool oversubscribed,
            bool single_copy);
    ~Serving();

    // From now on by this selector.
    void decide_by(std::shared_ptr<const Selector>);
    // What the rules say, without making a plan: local.
    Choice choice(const Kind&) const;
    const Decision& decide(Kind&&);
    // allgatherv with these lengths: a program may have ever new ones, and what was made for
    // others gives way.
    const Decision& decide(const std::vector<std::size_t>& blocks);
    // What is at hand for other lengths, or null.
    const Decision* relengthed(const std::vector<std::size_t>& blocks);
    // No rank knows the lengths of others, so that nothing may depend on them: of gatherv, scatterv,
    // alltoallv and neighborhoods.
    const Decision& decide_blindly(Operation, int root = 0);

    void run(const Decision& d, const void* input, void* output, const Combiner* combiner) {
        if (!d.across) [[likely]] shared_->group.run(d.plan, input, output, combiner);
        else d.across->run(d.plan, input, output, combiner);
    }
    // gatherv, scatterv and alltoallv, whose lengths are not known before the call.
    void run_whole(const Decision&, const Problem&, const void* input, void* output);
    void plan_whole(const Decision&, const Problem&, Plan&);
    void plan_neighbors(const Decision&, const Problem&, Plan&);

    // Which runs what was decided.
    Group& group_of(const Decision& d) const { return d.across ? *d.across : shared_->group; }
    // Of a neighborhood with these edges; lives as long as a LastCall that names it.
    const Plan& neighbor_plan(const Decision&, const Problem&);

    // In which this rank runs what is started, and what is for one node alone.
    Group& group() { return shared_ ? shared_->group : alone_.at(Transport::message)->group; }
    // Several nodes: of the same ranks, for messages.  To be called by all ranks together.
    std::shared_ptr<const PrivateCommunicator> messages();
    // ... and what reaches the ranks of other nodes: before the first operation that is started.
    void reach_by(std::shared_ptr<RemoteTransport>);
    MPI_Comm comm() const { return comm_; }
    // Its first level: the nodes.
    const Topology& topology() const { return topology_; }
    bool on_one_node() const { return map_.count() == 1; }
    // The root's own block has one length where it is sent and another where it is received.  The others, who
    // cannot know it, are served: an error for all of them, since they would wait for the root.
    [[noreturn]] void own_block_differs(Operation, std::size_t sent, std::size_t received);

    LastCall& last(Operation operation) { return last_[static_cast<std::size_t>(operation)]; }

private:
    const MPI_Comm comm_;
    const Topology topology_;
    const Domains& map_;
    const std::unique_ptr<SharedGroup> shared_;
    const Sharing sharing_;
    const bool oversubscribed_, single_copy_;
    const Domains apart_;  // each rank by itself

public:
    Workspace workspace;
    RecordLength record;               // fanlight_allgatherv_any
    const int rank, size;
    bool of_requests = false;          // runs what is started: by shared memory and messages, and the rest is the MPI library's
    int slots = 0;                     // several nodes: of messages under way at one time; 0: nothing can be under way
    std::atomic<int> under_way{0};     // operations that use its decisions' plans
    std::shared_ptr<const Neighborhood> neighborhood;  // null: no topology

private:
    void make(const Kind&, Decision&);
    void check_room(const Algorithm&, const Decision&) const;
    Reach reach(const Algorithm&, Transport) const;
    Situation situation(const Kind&, const Problem&) const;

    struct Recent {
        Kind kind;
        Decision decision;
    };
    // allgatherv: one whose plan takes blocks of other lengths, while their mean is in this range.
    struct AnyLengths {
        Decision decision;
        std::size_t from = 1, to = 0;
        Problem problem;
    };
    // Of one selector.
    struct Decisions {
        std::unordered_map<Kind, std::unique_ptr<Decision>, KindHash> all;
        std::vector<Recent> recent;  // allgatherv's by their hash; empty until the first
        AnyLengths any_lengths;
    };
    void keep_for_any_lengths(const Recent&);
    void forget_last_calls(const Decision& of);
    // neighborhoods: the plans of the last calls, found by their edges.
    struct NeighborPlan {
        const Algorithm* algorithm = nullptr;
        Parameters parameters;
        std::vector<Edge> edges;
        Plan plan;
    };
    Group& alone(Transport);

    std::shared_ptr<const PrivateCommunicator> messages_;    // made when first needed
    std::map<Transport, std::unique_ptr<LoneGroup>> alone_;  // the same
    // Also of those before: a program may choose for every call anew, and their plans may be in use.
    std::map<std::shared_ptr<const Selector>, Decisions> decisions_;
    std::shared_ptr<const Selector> selector_;
    Decisions* now_;
    Problem problem_;             // of the decision that is made; its memory is used again
    std::vector<LastCall> last_;
    std::vector<std::unique_ptr<NeighborPlan>> neighbor_plans_;
    std::size_t neighbor_plans_made_ = 0;
};

// One for each text of fanlight_set_algorithm that a communicator still uses; the empty one is the rules'
// own, which lives for ever.  Throws std::invalid_argument.
std::shared_ptr<const Selector> selector(const std::string& chosen = {});

// Shared memory that this process may still reserve (FANLIGHT_SHARED_MEMORY).
namespace budget {
bool take(std::size_t bytes);
void give_back(std::size_t bytes);
}  // namespace budget

}  // namespace fanlight

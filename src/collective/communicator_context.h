// A communicator that Fanlight serves: its groups, and the decisions for its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collective/decision.h"
#include "collective/mpi_header.h"
#include "collective/neighborhood.h"
#include "collective/shared_group.h"
#include "collective/workspace.h"
#include "execute/operators.h"
#include "schedule/problem.h"
#include "select/record_length.h"
#include "select/select.h"
#include "schedule/topology.h"

namespace fanlight {

namespace guard {
class Guard;
}

class PrivateCommunicator;

class CommunicatorContext {
public:
    // `shared` are the ranks of this rank's node, null where it is alone; `oversubscribed`, `single_copy` and
    // `single_copy_from` (0: nobody measured it) hold for all nodes.
    CommunicatorContext(MPI_Comm, Topology, std::unique_ptr<SharedGroup> shared, int rank, const Sharing&, bool oversubscribed,
            bool single_copy, std::size_t single_copy_from);
    // For the persistent operations, one at a time, of a communicator that `blocking` serves; it has no memory yet.
    explicit CommunicatorContext(const CommunicatorContext& blocking);
    ~CommunicatorContext();

    // From now on by this selector.
    void decide_by(std::shared_ptr<const Selector>);
    // What the rules say, without making a plan: local.
    Choice choice(const Problem&) const;
    // A problem to be filled in, in memory that is used again and again.
    Problem& problem(Operation, int root = 0);
    // Only what is the same on all ranks decides.  The decision lives until the next one is made, or as long as it is held.
    // Where lengths are unknown it has no plan,
    const Decision& decide(const Problem&);
    // this says whether it is left to the MPI library whatever they are (null: not), before the arguments are looked at,
    const Decision* left_at_any_length(Operation, int root = 0);
    // and this is the same with a plan for those lengths that this rank knows.
    const Decision& planned(const Decision&, Problem&);
    // Of a persistent operation: the plan of what was decided, whose memory it is to be given.
    Plan& plan_of(const Decision& d) { return calls_.find(d.problem, selector_.get())->plan; }

    // Combines the ranks' numbers one by one.  Collective; it may end the life of another decision.
    void combine(Arithmetic, const std::int64_t* mine, std::int64_t* all, std::size_t count);
    // What the guard has found for calls of this kind; empty: nothing.
    std::string found(const Problem&) const;

    void run(const Decision& d, const void* input, void* output, const Combiner* combiner) {
        if (!d.across) [[likely]] shared_->group.run(d.plan, input, output, combiner);
        else d.across->run(d.plan, input, output, combiner);
    }
    // The group in which this rank runs non-blocking operations, and those within one node.
    Group& group() { return shared_ ? shared_->group : alone_.at(Transport::message)->group; }
    // The ranks of this node and their memory; null where this rank is alone on it.
    SharedGroup* shared() { return shared_.get(); }
    // Several nodes: of the same ranks, for messages.  To be called by all ranks together.
    std::shared_ptr<const PrivateCommunicator> messages();
    // ... and what reaches the ranks of other nodes: before the first operation that is started.
    void reach_by(std::shared_ptr<RemoteTransport>);
    MPI_Comm comm() const { return comm_; }
    // Its first level: the nodes.
    const Topology& topology() const { return topology_; }
    bool on_one_node() const { return map_.count() == 1; }
    // This rank's block for itself has one length where it is sent and another where it is received.  The others, who
    // cannot know it, are served: an error for all of them, since they would wait for this one.
    [[noreturn]] void own_block_differs(Operation, std::size_t sent, std::size_t received);
    // ... for neighbor_allgather, where one rank's block has two lengths along two edges.
    [[noreturn]] void neighbors_block_differs(int from, std::size_t bytes, std::size_t other_bytes);

    LastCall& last(Operation operation) { return last_[static_cast<std::size_t>(operation)]; }

private:
    const MPI_Comm comm_;
    const Topology topology_;
    const Domains& map_;
    const std::unique_ptr<SharedGroup> shared_;
    const Sharing sharing_;
    const bool oversubscribed_, single_copy_;
    const std::size_t single_copy_from_;
    const Domains apart_;  // each rank by itself

public:
    Workspace workspace;
    RecordLength record;               // fanlight_allgatherv_any
    const int rank, size;
    bool of_requests = false;          // runs what is started: by shared memory and messages, and the rest is the MPI library's
    SharedSlots::Extent memory{-1, -1};  // of a persistent operation: what its group has on each node
    int slots = 0;                     // several nodes: of messages in flight at one time; 0: nothing can be in flight
    std::shared_ptr<const Neighborhood> neighborhood;  // null: no topology

private:
    const Decision& decide_alike(const Problem&);
    void make(Decision&);
    void check_room(const Decision&) const;
    Reach reach(const Chosen&) const;
    Situation situation(const Problem&) const;
    // Which runs what was decided.
    Group& group_of(const Chosen& d) const { return d.across ? *d.across : shared_->group; }
    Decision* known(const Problem&);
    bool takes_lengths_of(const Decision&, const Problem&) const;
    const Decision& keep(std::shared_ptr<Decision>);
    void forget();
    guard::Calls* guarded(const Decision&) const;

    Group& alone(Transport);

    std::shared_ptr<const PrivateCommunicator> messages_;    // made when first needed
    std::map<Transport, std::unique_ptr<LoneGroup>> alone_;  // the same
    std::shared_ptr<const Selector> selector_;
    // Also those before, and what was decided by them: a program may choose for every call anew.
    std::vector<std::shared_ptr<const Selector>> selectors_;
    const std::unique_ptr<guard::Guard> guard_;  // null: none; before what points into it
    PlanCache<Decision> calls_;
    std::vector<LastCall> last_;
    std::vector<Decision*> last_planned_;  // of each operation whose blocks have lengths of their own
    std::map<std::pair<Operation, int>, std::vector<const Decision*>> without_plan_;  // of operations whose lengths are unknown, by root
    Problem problem_;
};

// One for each text of fanlight_set_algorithm that a communicator still uses; the empty one is the rules'
// own, which lives for ever.  `tuned`: what the ranks agreed on.  Throws std::invalid_argument.
std::shared_ptr<const Selector> selector(const std::string& chosen = {}, const TunedRules& tuned = {});

}  // namespace fanlight

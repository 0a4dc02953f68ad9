// Which of a schedule's ranks share memory with each other: cells and staging are between these, and
// messages, or windows, between all others.
#pragma once

#include <span>

#include "schedule/topology.h"
#include "transport/kind.h"

namespace fanlight {

// Of a communicator; the same on all of its ranks, and valid while a plan is made.
struct Reach {
    const Domains* nodes = nullptr;  // null: all share memory, and the schedule's ranks are the group's
    std::span<const int> members{};  // the communicator's rank of each of the schedule's; empty: all, in their order
    Transport transport = Transport::message;
    // What a node's ranks may do, on all nodes.
    bool single_copy = false, oversubscribed = false;

    int rank_of(int r) const { return members.empty() ? r : members[static_cast<std::size_t>(r)]; }
    bool near(int r, int other) const { return !nodes || nodes->share(rank_of(r), rank_of(other)); }
    // Among those of its node.
    int local(int r) const { return nodes ? nodes->local(rank_of(r)) : r; }
    bool no_one_is_near() const { return nodes && nodes->count() == nodes->ranks(); }
};

}  // namespace fanlight

// Which of a schedule's ranks share memory.  Cells and staging are between these, messages or windows between all others.
#pragma once

#include "schedule/topology.h"
#include "transport/kind.h"

namespace fanlight {

// Of a communicator; the same on all of its ranks, and valid while a plan is made.
struct Reach {
    const Domains* nodes = nullptr;  // null: all share memory, and the schedule's ranks are the group's
    Transport transport = Transport::message;
    // What a node's ranks may do, on all nodes.
    bool single_copy = false, oversubscribed = false;
    std::size_t single_copy_from = 0;  // as measured; 0: it was not

    bool near(int r, int other) const { return !nodes || nodes->share(r, other); }
    // Among those of its node.
    int local(int r) const { return nodes ? nodes->local(r) : r; }
    bool by_messages() const { return nodes && transport == Transport::message; }
    bool over_windows() const { return nodes && transport != Transport::message; }
    bool no_one_is_near() const { return nodes && nodes->count() == nodes->ranks(); }
};

}  // namespace fanlight

// The groups of a communicator: that of a node's ranks, in memory that they share, and that of one rank alone.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "execute/group.h"
#include "memory/segment.h"
#include "transport/remote.h"

namespace fanlight {

// Shared memory that this process may still reserve (FANLIGHT_SHARED_MEMORY).
namespace budget {
bool take(std::size_t bytes);
void give_back(std::size_t bytes);
}  // namespace budget

// How the ranks of a node share it.
struct Sharing {
    bool single_copy = false;
    std::size_t single_copy_from = 0;  // as measured; 0: it was not
    int ranks = 1;                     // that share the cores
    int cores = 0;
};

// A group and the segment that it lives in.
class SharedGroup {
public:
    // All but the segment's address and the rank: agreed on by all ranks.
    SharedGroup(Segment, int rank, std::vector<int> world_ranks, const Sharing&);
    // Of the same ranks for a single plan at a time, for which there is no memory yet.
    explicit SharedGroup(const SharedGroup& blocking);
    ~SharedGroup();
    void place(Segment, SharedSlots::Extent);
    // Before the first operation: takes more slots (Group::reserve_more_slots), or gives back what they count.
    void settle_slots(bool more);

private:
    Segment segment_;  // before the group
    std::size_t counted_;  // of the budget
    const std::vector<int> world_ranks_;
    const Sharing sharing_;

public:
    Group group;
};

// A group of this rank alone, which messages or windows connect with all others.
struct LoneGroup {
    LoneGroup(Transport, std::shared_ptr<RemoteTransport>, const Sharing&);
    Segment memory;
    Group group;
};

}  // namespace fanlight

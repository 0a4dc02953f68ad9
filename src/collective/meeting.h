// How the ranks of a communicator come to share a segment: one makes it, the others open it, and each reserves its part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/library.h"
#include "collective/reason.h"
#include "execute/copy_speed.h"
#include "memory/segment.h"
#include "transport/shared.h"

namespace fanlight {

// What each rank tells all others.
struct Presence {
    std::uint64_t pid = 0;
    std::uint64_t pid_namespace = 0;
    std::uint64_t address = 0;    // of `token`, for the probe of process_vm_readv
    std::uint64_t token = 0;      // a random number; 0: none could be had
    std::uint64_t reason = 0;     // a Reason, why this rank cannot take part
    std::int64_t error = 0;       // errno, where it found no room in the segment
    std::uint64_t by_name = 0;    // whether it may where the segment has a name
    std::uint64_t blocks = 0;     // of its CopySpeed; 0: it measures nothing
    std::uint64_t world_rank = 0;
};

// The segment that all ranks have mapped, and what each of them has told; or why there is none.
struct Meeting {
    Segment segment;
    std::unique_ptr<CopySpeed> speed;
    Presence own;
    std::vector<Presence> all;
    Reason reason = Reason::none;
    bool by_name = false;  // ... where one with a name may do
};

// By all ranks together.  The segment is as the layout says, of the group that will have it; `measures`: what single copy takes here is
// to be measured.  `mine`: why this rank cannot take part.
Meeting meet(MPI_Comm, int rank, int size, const SharedSlots& layout, bool measures, Reason mine);

std::string megabytes(std::size_t bytes);

}  // namespace fanlight

// Whether one copy by the kernel is faster than two through shared memory, and from which length on.
//
// That depends on what a cache line takes to the other core and what a page takes the kernel: one machine is twice as
// fast with the one, another four times with the other.  So it is measured where the ranks are, on what a collective
// does: one rank writes a block, the other reads it for the first time.
//
//   CopySpeed speed(slots, rank);                // every rank writes its blocks
//   ... a barrier; all publish their pid and speed.blocks() ...
//   speed.copied_once_from(peer, pid, blocks);
//   ... a barrier before it ends: others read its blocks ...
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/shared.h"

namespace fanlight {

class CopySpeed {
public:
    // The least and the greatest length from which on messages are copied once; the latter where nothing was measured.
    static constexpr std::size_t earliest = 8 * 1024, latest = 32 * 1024;

    CopySpeed(const SharedSlots&, int rank);

    std::uint64_t blocks() const { return reinterpret_cast<std::uint64_t>(memory_.data()); }
    // From how many bytes on, from the earliest to the latest; 0: never.  `blocks` are those of rank `peer`.  Costs about two
    // tenths of a millisecond.
    std::size_t copied_once_from(int peer, pid_t pid, std::uint64_t blocks);
    // By the times of so many bytes by two copies and by one, and of a quarter of them by one.
    static std::size_t from_times(std::size_t bytes, double twice, double once, double once_short);

private:
    std::byte* staging(std::size_t i, int rank) const { return shared_slots_.staging(i, rank); }

    SharedSlots shared_slots_;
    std::size_t count_, bytes_;      // blocks, and the length of each
    std::vector<std::byte> memory_;  // behind each its short one
};

}  // namespace fanlight

// Whether one copy by the kernel is faster than two through shared memory, and from which length on.
//
// That depends on what a cache line takes to the other core and what a page takes the kernel: one machine is twice as
// fast with the one, another four times with the other.  So it is measured where the ranks are, on what a collective
// does: one rank writes a block, the other reads it for the first time.
//
//   CopySpeed speed(slots, rank);                // every rank writes its blocks
//   ... a barrier; all publish their pid and speed.blocks() ...
//   bool allowed = speed.read(peer, pid, blocks);
//   ... a barrier: what is staged next goes where the other core has read before, as in any later round ...
//   speed.copied_once_from();                    // allowed
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "transport/shared.h"

namespace fanlight {

class CopySpeed {
public:
    // The least length from which on messages are copied once, where nothing was measured, and where it never pays.
    static constexpr std::size_t earliest = 8 * 1024, unmeasured = 32 * 1024, never = std::numeric_limits<int>::max();

    CopySpeed(const SharedSlots&, int rank);

    std::uint64_t blocks() const { return reinterpret_cast<std::uint64_t>(memory_.data()); }
    // Reads the blocks of rank `peer`, which are at `blocks` there, both ways; false: the kernel refuses.  Costs about two
    // tenths of a millisecond.
    bool read(int peer, pid_t pid, std::uint64_t blocks);
    // From how many bytes on one copy takes less time; 0: it takes so much more that no algorithm should use it.
    std::size_t copied_once_from();
    // By the times of so many bytes by two copies and by one, and of a quarter of them by one.
    static std::size_t from_times(std::size_t bytes, double twice, double once, double once_short);

private:
    std::byte* staging(std::size_t i, int rank) const { return shared_slots_.area(rank, i); }

    SharedSlots shared_slots_;
    const int rank_;
    std::size_t count_, bytes_;      // blocks, and the length of each
    std::vector<std::byte> memory_;  // behind each its short one; as long as a core's own cache
    std::vector<double> out_, once_, once_short_;  // microseconds
};

}  // namespace fanlight

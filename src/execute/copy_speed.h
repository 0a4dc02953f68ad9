// Whether one copy by the kernel is faster than two through shared memory, and from which length on.
//
// That depends on what a cache line takes to the other core and what a page takes the kernel: one machine is twice as
// fast with the one, another four times with the other.  So it is measured where the ranks are, on what a collective
// does: one rank writes a block, the other reads it for the first time.
//
//   CopySpeed speed(slots, rank);                // every rank writes its blocks
//   ... a barrier; all publish their pid and speed.blocks() ...
//   bool allowed = speed.read(peer, pid, blocks);
//   ... a barrier: what is staged next goes where another core still has the lines of before, the slow part where the
//   cores share no cache ...
//   speed.copied_once_from();                    // allowed
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/shared.h"

namespace fanlight {

class CopySpeed {
public:
    // The least and the greatest length from which on messages are copied once; the latter where nothing was measured.
    static constexpr std::size_t earliest = 8 * 1024, latest = 32 * 1024;
    // The greatest where ranks share cores: then one copy also costs a context switch for each reader, before the owner goes on.
    static constexpr std::size_t latest_on_shared_cores = 512 * 1024;

    CopySpeed(const SharedSlots&, int rank);

    std::uint64_t blocks() const { return reinterpret_cast<std::uint64_t>(memory_.data()); }
    // Reads the blocks of rank `peer`, which are at `blocks` there, both ways; false: the kernel refuses.  Costs about two
    // tenths of a millisecond.
    bool read(int peer, pid_t pid, std::uint64_t blocks);
    // From how many bytes on one copy takes less time, from the earliest to the latest; latest_on_shared_cores: hardly less, or
    // more; 0: much more.
    std::size_t copied_once_from();
    // By the times of so many bytes by two copies and by one, and of a quarter of them by one.
    static std::size_t from_times(std::size_t bytes, double twice, double once, double once_short);
    // From where on all ranks of a node copy once, by the least that any of them measured across cores, and the greatest.
    static std::size_t agreed(std::size_t least, std::size_t greatest, bool oversubscribed) {
        return oversubscribed && least == latest_on_shared_cores ? least : std::min(greatest, latest);
    }

private:
    std::byte* staging(std::size_t i, int rank) const { return shared_slots_.staging(i, rank); }

    SharedSlots shared_slots_;
    const int rank_;
    std::size_t count_, bytes_;      // blocks, and the length of each
    std::vector<std::byte> memory_;  // behind each its short one
    std::vector<double> out_, once_, once_short_;  // microseconds
};

}  // namespace fanlight

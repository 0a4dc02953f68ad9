// Whether one copy by the kernel is faster than two through shared memory.
//
// That depends on what a cache line takes to the other core and what a page takes the kernel: one machine is twice as
// fast with the one, another four times with the other.  So it is measured where the ranks are, on what a collective
// does: one rank writes a block, the other reads it for the first time.
//
//   CopySpeed speed(slots, rank);                // every rank writes its blocks
//   ... a barrier; all publish their pid and speed.blocks() ...
//   speed.single_copy_is_faster(peer, pid, blocks);
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
    CopySpeed(const SharedSlots&, int rank);

    std::uint64_t blocks() const { return reinterpret_cast<std::uint64_t>(memory_.data()); }
    // `blocks` are those of rank `peer`.  Costs about a tenth of a millisecond.
    bool single_copy_is_faster(int peer, pid_t pid, std::uint64_t blocks);

private:
    std::byte* staging(std::size_t i, int rank) const { return shared_slots_.staging(i, rank); }

    SharedSlots shared_slots_;
    std::size_t count_, bytes_;    // blocks, and the length of each
    std::vector<std::byte> memory_;
    std::vector<double> in_;       // microseconds to stage a block
};

}  // namespace fanlight

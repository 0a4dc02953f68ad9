// The memory of a group's other members that this process reaches: that of its own threads, what lies in an arena
// (memory/arena.h), what both have mapped (memory/shared_blocks.h), and by system calls what the kernel allows.
//
// A message that is staged is copied twice.  One in an arena that the readers can load from is lent instead: they get its
// address.  The ranks agree on nothing; each message decides for itself.  A member that has something to lend for the
// first time publishes where its arena is, and stages.  A peer that gets something long from it opens the arena and sets
// a bit.  From then on the owner lends to that peer, where that pays (lending.h).  What both have mapped is lent at once.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "execute/lending.h"
#include "memory/peer_arena.h"
#include "memory/shared_blocks.h"
#include "transport/shared.h"

namespace fanlight {

// Messages of this process's that were lent.
inline constinit std::atomic<std::uint64_t> messages_lent{0};

class PeerMemory {
public:
    PeerMemory(const SharedSlots&, int rank, int size);
    // When there is memory to meet in, and when all members are there.
    void enter();
    void meet();
    pid_t pid(int peer) const { return pids_[static_cast<std::size_t>(peer)]; }
    // In this process's pid namespace; elsewhere the same number may be a stranger's, or nobody's.
    bool knows(int peer) const { return known_[static_cast<std::size_t>(peer)]; }

    // Whether that is better for the program.
    bool lending_pays() { return !may_look_ || lending_.pays(*reinterpret_cast<ArenaHeader*>(base_)); }
    // Whether all of these can load it.
    bool lends(const std::byte* from, std::size_t bytes, std::span<const int> readers);
    // How a put tells of what is lent: the distance from the start of its owner's arena, wherever it lies itself.
    std::uint64_t distance(const std::byte* from) const { return reinterpret_cast<std::uint64_t>(from) - base_; }
    std::uint64_t address(int peer, std::int64_t distance) const {
        return shared_slots_.member(peer).arena.base + static_cast<std::uint64_t>(distance);
    }

    // Something came that was lent or could have been.
    void look_for(int peer) {
        const auto p = static_cast<std::size_t>(peer);
        if (!looked_[p]) find(peer);
        if (headers_[p]) readings_[p].go_on(*headers_[p]);
    }
    // Where this process reaches what the peer calls `there`; null: nowhere, but perhaps copy() does.
    std::byte* at(int peer, std::uint64_t there, std::size_t bytes) {
        const auto p = static_cast<std::size_t>(peer);
        if (is_own_[p]) return reinterpret_cast<std::byte*>(there);
        if (!looked_[p]) find(peer);
        PeerArena* const arena = arenas_[p].get();
        if (arena && arena->has(there, bytes)) return arena->at(there, bytes);
        return known_[p] ? blocks_.at(pids_[p], there, bytes) : nullptr;
    }
    enum class Way { read, write };
    // `bytes` between `here` and the peer's `there`, which at() did not reach.  Returns an error's number, or 0.
    int copy(Way, int peer, std::byte* here, std::uint64_t there, std::size_t bytes);

private:
    void find(int peer);
    bool tell();
    bool can_load(int reader, const std::byte* from, std::size_t bytes) const;

    const SharedSlots& shared_slots_;
    SharedBlocks& blocks_ = SharedBlocks::here();
    const int rank_;
    std::uint64_t base_ = 0;   // of this process's arena, once the others were told
    bool may_lend_ = true;     // false: they cannot be told
    std::vector<pid_t> pids_;
    std::vector<char> known_, is_own_, looked_;  // of each peer; is_own_: it is a thread of this process
    std::vector<std::shared_ptr<PeerArena>> arenas_;
    const bool may_look_;  // whether lending pays
    Lending lending_;
    std::vector<Reading> readings_;      // of each peer's
    std::vector<ArenaHeader*> headers_;  // null: not mapped, or nobody looks
};

}  // namespace fanlight

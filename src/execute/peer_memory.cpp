#include "execute/peer_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "topology/cores.h"

namespace fanlight {

PeerMemory::PeerMemory(const SharedSlots& slots, int rank, int size)
    : shared_slots_(slots),
      rank_(rank),
      pids_(static_cast<std::size_t>(size), 0),
      known_(static_cast<std::size_t>(size), 0),
      is_own_(static_cast<std::size_t>(size), 0),
      looked_(static_cast<std::size_t>(size), 0),
      arenas_(static_cast<std::size_t>(size)),
      may_look_(config().lent_from == 0),
      readings_(static_cast<std::size_t>(size)),
      headers_(static_cast<std::size_t>(size)) {}

void PeerMemory::enter() {
    base_ = 0;
    std::ranges::fill(looked_, false);
    store(shared_slots_.member(rank_).pid_namespace, pid_namespace());
    store(shared_slots_.member(rank_).pid, static_cast<std::uint64_t>(getpid()));
}

void PeerMemory::meet() {
    const SharedSlots::Member& own = shared_slots_.member(rank_);
    for (std::size_t p = 0; p < pids_.size(); ++p) {
        const SharedSlots::Member& member = shared_slots_.member(static_cast<int>(p));
        pids_[p] = static_cast<pid_t>(load(member.pid));
        known_[p] = load(own.pid_namespace) != 0 && load(member.pid_namespace) == load(own.pid_namespace);
        is_own_[p] = known_[p] && load(member.pid) == load(own.pid);
    }
}

bool PeerMemory::lends(const std::byte* from, std::size_t bytes, std::span<const int> readers) {
    const bool in_arena = arena::owns(from, bytes);
    if ((!in_arena && !blocks_.owns(from, bytes)) || !may_lend_ || (base_ == 0 && !tell())) return false;
    if (in_arena)
        return std::ranges::all_of(readers, [this](int reader) { return (load(shared_slots_.opened(reader, rank_)) >> rank_ % 64 & 1) != 0; });
    const auto away = static_cast<std::int64_t>(distance(from));
    return distance_of(where_of(distance(from))) == away && std::ranges::all_of(readers, [&](int reader) { return can_load(reader, from, bytes); });
}

// Where this process's arena is, to whom it lends from there on; false: it has none.
bool PeerMemory::tell() {
    const ArenaName name = arena::name();
    may_lend_ = name.pid != 0 && name.bytes < std::uint64_t{1} << (where_bits - 1);
    if (!may_lend_) return false;
    base_ = name.base;
    // The process id last: others look for it meanwhile.
    ArenaName& told = shared_slots_.member(rank_).arena;
    told.pid_namespace = name.pid_namespace;
    told.fd = name.fd;
    told.number = name.number;
    told.base = name.base;
    told.bytes = name.bytes;
    store(told.pid, name.pid);
    return true;
}

bool PeerMemory::can_load(int reader, const std::byte* from, std::size_t bytes) const {
    const auto r = static_cast<std::size_t>(reader);
    return is_own_[r] || (known_[r] && blocks_.reached_by(pids_[r], from, bytes));
}

// Once: what cannot be opened now never can.
void PeerMemory::find(int peer) {
    const SharedSlots::Member& member = shared_slots_.member(peer);
    if (load(member.arena.pid) == 0) return;
    const auto p = static_cast<std::size_t>(peer);
    looked_[p] = true;
    headers_[p] = nullptr;
    if (!is_own_[p]) arenas_[p] = PeerArena::find(member.arena);
    if (!is_own_[p] && !arenas_[p]) return;
    if (arenas_[p] && may_look_) headers_[p] = reinterpret_cast<ArenaHeader*>(arenas_[p]->at(member.arena.base, sizeof(ArenaHeader)));
    std::uint64_t& opened = shared_slots_.opened(rank_, peer);
    store(opened, opened | std::uint64_t{1} << peer % 64);
}

int PeerMemory::copy(Way way, int peer, std::byte* here, std::uint64_t there, std::size_t bytes) {
    if (PeerArena* const arena = arenas_[static_cast<std::size_t>(peer)].get(); arena && arena->has(there, bytes))
        return (way == Way::read ? arena->read(there, here, bytes) : arena->write(there, here, bytes)) ? 0 : EFAULT;
    while (bytes > 0) {
        const iovec mine{here, bytes};
        const iovec theirs{reinterpret_cast<void*>(there), bytes};
        const ssize_t n = way == Way::read ? process_vm_readv(pid(peer), &mine, 1, &theirs, 1, 0)
                                           : process_vm_writev(pid(peer), &mine, 1, &theirs, 1, 0);
        if (n <= 0) {
            if (n < 0 && errno == EINTR) continue;
            return n < 0 ? errno : EFAULT;
        }
        here += n;
        there += static_cast<std::uint64_t>(n);
        bytes -= static_cast<std::size_t>(n);
    }
    return 0;
}

}  // namespace fanlight

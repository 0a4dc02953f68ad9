#include "execute/lending.h"

#include <algorithm>
#include <atomic>
#include <span>

#ifdef __SSE2__
#include <x86intrin.h>
#endif

namespace fanlight {

namespace {

// So many messages lie between two looks, at most.  The readers read twice as often, and the first messages all.
constexpr int seldom = 32, often_at_first = 32;

#ifdef __SSE2__
// Of the time-stamp counter, for a line, from when the stores before are over until all these are: what is only queued takes no
// time.
std::uint64_t cycles_of_stores(std::span<ArenaHeader::Line> lines) {
    unsigned core;
    _mm_mfence();
    const std::uint64_t start = __rdtscp(&core);
    for (ArenaHeader::Line& line : lines) std::atomic_ref(line.word).store(start, std::memory_order_relaxed);
    _mm_mfence();
    return (__rdtscp(&core) - start) / lines.size();
}
#else
std::uint64_t cycles_of_stores(std::span<ArenaHeader::Line>) { return 0; }
#endif

}  // namespace

bool Lending::saw(std::uint64_t read, std::uint64_t own) {
    const bool is_costly = static_cast<std::int64_t>(read - own) > costly;
    pays_ = !is_costly || (pays_ && !doubted_);
    doubted_ = is_costly;
    return pays_;
}

bool Lending::look(ArenaHeader& arena) {
    // First soon, then less often.
    until_look_ = every_ = static_cast<std::uint8_t>(std::min(2 * every_, seldom));
    // In a page of their own: a processor may fetch more of a page than it reads.
    struct alignas(4096) Unread {
        ArenaHeader::Line lines[std::size(ArenaHeader{}.lines)];
        std::byte rest[4096 - sizeof lines];
    };
    static Unread unread;
    std::atomic_ref(arena.was_read.word).store(0, std::memory_order_relaxed);
    cycles_of_stores({unread.lines, 1});  // the page is there from now on
    const std::uint64_t own = cycles_of_stores(unread.lines);
    return saw(cycles_of_stores(arena.lines), own);
}

void Reading::read(ArenaHeader& owner) {
    reads_ = static_cast<std::uint8_t>(std::min(reads_ + 1, often_at_first));
    until_read_ = reads_ < often_at_first ? 1 : seldom / 2;
    for (ArenaHeader::Line& line : owner.lines) static_cast<void>(std::atomic_ref(line.word).load(std::memory_order_relaxed));
    std::atomic_ref(owner.was_read.word).store(1, std::memory_order_relaxed);
}

}  // namespace fanlight

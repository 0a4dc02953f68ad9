// Whether it pays to lend what lies in an arena (peer_memory.h).
//
// What peers have read lies in their caches, and the next stores of its owner, the program's own, must take each line back.
// Between cores that share a cache that costs next to nothing, and a message that is lent is copied once.  Between others it
// can cost more than the copy to staging that lending saves: a program that fills 64 KiB before each bcast took 12.0 us for
// both, and takes 4.4 where they are staged.  So now and then a rank times its stores to lines that peers have read since (ArenaHeader), and to
// lines of its own.  Each message decides for itself, so nobody must agree.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "config/config.h"
#include "memory/arena.h"

namespace fanlight {

// Messages of so many bytes are lent.
inline std::size_t lent_from() {
    constexpr std::size_t usual = 16 * 1024;
    return config().lent_from ? config().lent_from : usual;
}

// What a rank knows of the readers in its group.
class Lending {
public:
    // For the next message.  `arena`: of this process's.
    bool pays(ArenaHeader& arena) {
        if (until_look_ > 1) [[likely]] return --until_look_, pays_;
        return std::atomic_ref(arena.was_read.word).load(std::memory_order_relaxed) ? look(arena) : pays_;
    }
    // The cycles that a store takes to a line that was read, and to one of its own.  It pays no longer when two looks in a row
    // have found that the former takes much longer.
    bool saw(std::uint64_t read, std::uint64_t own);

    // So many cycles more are much.  Measured: 1 to 6 more where two cores share all caches, 11 to 27 where they share none; a
    // copy to staging takes 4.  Tests change it.
    static inline constinit std::int64_t costly = 10;

private:
    bool look(ArenaHeader& arena);

    std::uint8_t until_look_ = 2, every_ = 1;  // messages
    bool pays_ = true, doubted_ = false;
};

// What each of its readers does now and then, with a message of the owner's that was lent or could have been: at least once between
// two looks.
class Reading {
public:
    // Whether it has read.
    bool go_on(ArenaHeader& owner) {
        if (--until_read_ > 0) [[likely]] return false;
        read(owner);
        return true;
    }

private:
    void read(ArenaHeader& owner);
    std::uint8_t until_read_ = 1, reads_ = 0;  // messages; up to often_at_first
};

}  // namespace fanlight

// The queue of a lock: Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
// multiprocessors", 1991.  Each unit waits at a word of its own, which its predecessor writes.  The lock costs a constant
// number of remote operations and is handed on in the order of arrival.
#pragma once

#include <cstdint>

namespace fanlight::global {

// The words of each unit, all 0 at first; numbers of units are stored plus one, 0 is nobody.  Each on a line of its
// own.  The tail is that of unit 0.
enum class Word : std::uint64_t { tail = 0, next = 128, waiting = 256, end = 384 };

// Words: exchange(unit, word, value) and exchange_tail(value) return what was there; replace_tail(from, to) likewise, and
// replaces only `from`.  All are atomic and in one order for all.
template <class Words>
class Queue {
public:
    Queue(const Words& words, int unit) : words_(words), unit_(unit) {}

    // wait(unit, ready): until ready(), which is that unit's doing.
    template <class Wait>
    void enter(const Wait& wait) const {
        words_.exchange(unit_, Word::next, 0);
        words_.exchange(unit_, Word::waiting, 1);
        const std::int64_t before = words_.exchange_tail(unit_ + 1);
        if (before == 0) return;
        const int predecessor = static_cast<int>(before - 1);
        words_.exchange(predecessor, Word::next, unit_ + 1);
        wait(predecessor, [&] { return words_.load(unit_, Word::waiting) == 0; });
    }

    bool try_enter() const {
        words_.exchange(unit_, Word::next, 0);
        return words_.replace_tail(0, unit_ + 1) == 0;
    }

    template <class Wait>
    void leave(const Wait& wait) const {
        const std::int64_t last = words_.replace_tail(unit_ + 1, 0);
        if (last == unit_ + 1) return;
        // Somebody has come, and is about to say who.
        std::int64_t successor = 0;
        wait(static_cast<int>(last - 1), [&] { return (successor = words_.load(unit_, Word::next)) != 0; });
        words_.exchange(static_cast<int>(successor - 1), Word::waiting, 0);
    }

private:
    const Words& words_;
    int unit_;
};

}  // namespace fanlight::global

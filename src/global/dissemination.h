// Dissemination: in round k every unit tells the one 2^k after it, and waits for the one 2^k
// before it; after ceil(log2 n) rounds it has heard of all.  The counters only grow.
//
// D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fanlight::global {

// counter(unit, round) is a word of that unit's, 0 at first, which one other writes; wait(unit, ready)
// returns when ready().  `number` is 1 in the first barrier, then one more in each.
template <class Counter, class Wait>
void disseminate(int unit, int size, std::uint64_t number, const Counter& counter, const Wait& wait) {
    std::size_t round = 0;
    for (int distance = 1; distance < size; distance *= 2, ++round) {
        std::atomic_ref<std::uint64_t>(counter((unit + distance) % size, round)).store(number, std::memory_order_release);
        const std::atomic_ref<std::uint64_t> own(counter(unit, round));
        wait((unit - distance + size) % size, [&] { return own.load(std::memory_order_acquire) >= number; });
    }
}

}  // namespace fanlight::global

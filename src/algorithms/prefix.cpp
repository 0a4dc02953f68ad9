#include "algorithms/prefix.h"

namespace fanlight {

void double_prefixes(Builder& b, const Problem& problem, int lowest, int first,
                     Address value) {
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    if (rank < lowest) return;
    for (int distance = first; distance < problem.size - lowest; distance *= 2) {
        // A slot for each step: the sender of a later step may be ahead.
        const Address slot = b.reserve(bytes);
        const bool receives = rank - distance >= lowest;
        if (rank + distance < problem.size) b.put(rank + distance, value, slot, bytes);
        if (receives) b.arrive(rank - distance, slot, bytes);
        b.next_round();
        if (receives) b.combine(slot, value, bytes, Order::before);
        b.next_round();
    }
}

}  // namespace fanlight

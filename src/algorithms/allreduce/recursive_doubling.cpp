// Partners at distance 1, 2, 4 ... exchange what they have combined so far and combine both.
//
//     0 <-> 1   2 <-> 3        then  0 <-> 2   1 <-> 3
//
// Where P is no power of two, the first ranks are folded in pairs of neighbors (2i, 2i + 1),
// so that rank order is kept: 2i gives its input to 2i + 1 and gets the result in the end.
//
// Cost: ceil(log2 P) (a + n b + n g), and 2 (a + n b) + n g for the folding.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.5.  Any number of ranks and any operator: both
// partners compute lower (+) higher, so that all ranks get the same bits.
#include <vector>

#include "algorithms/fold.h"
#include "schedule/builder.h"

namespace fanlight::allreduce_algorithms {

Schedule recursive_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    if (problem.size == 1) {
        b.copy(input(), output(), bytes);
        return b.finish();
    }
    const Fold fold(problem.size);

    if (fold.folded(rank)) {
        b.put(rank + 1, input(), output(), bytes);
        b.next_round();
        b.arrive(rank + 1, output(), bytes);
        return b.finish();
    }

    // The partners' vectors come to slots of their own: the partner of the next exchange may
    // be ahead, and must not write where this exchange's vector still waits to be combined.
    std::vector<Address> slots;
    for (int distance = 1; distance < fold.count; distance *= 2)
        slots.push_back(b.reserve(bytes));

    if (fold.in_pair(rank)) {
        b.arrive(rank - 1, output(), bytes);
        b.next_round();
        b.combine(input(), output(), bytes, Order::after);
        b.next_round();
    }

    const int number = fold.number(rank);
    std::size_t k = 0;
    for (int distance = 1; distance < fold.count; distance *= 2, ++k) {
        const int partner = fold.rank(number ^ distance);
        // Before a rank has combined anything its output is free: the first partner's vector
        // comes there and the input is combined with it, without a copy.
        const auto starts = [&](int r) { return k == 0 && !fold.in_pair(r); };
        const Order order = partner < rank ? Order::before : Order::after;
        const Address at_partner = starts(partner) ? output() : slots[k];
        if (starts(rank)) {
            b.put(partner, input(), at_partner, bytes);
            b.arrive(partner, output(), bytes);
            b.next_round();
            b.combine(input(), output(), bytes,
                      order == Order::before ? Order::after : Order::before);
        } else {
            b.put(partner, output(), at_partner, bytes);
            b.arrive(partner, slots[k], bytes);
            b.next_round();
            b.combine(slots[k], output(), bytes, order);
        }
        b.next_round();
    }
    if (fold.in_pair(rank)) b.put(rank - 1, output(), output(), bytes);
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

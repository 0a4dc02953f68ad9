// Round i: block r + i goes to rank r + i, and rank r - i's share of block r is combined with
// what is there: r, r - 1, r - 2, ... around the ring.
//
// Cost: (P - 1) (a + n b + n g), n the length of a block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4 (pairwise exchange).  Any number of ranks;
// operators that commute: the order starts at another rank for each block.
#include "schedule/builder.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule pairwise(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Block own = problem.block(rank);
    if (size == 1) b.copy(input(own.offset), output(), own.bytes);
    for (int i = 1; i < size; ++i) {
        const int target = (rank + i) % size;
        const int source = (rank - i + size) % size;
        const Block out = problem.block(target);
        b.put(target, input(out.offset), output(), out.bytes);
        b.arrive(source, output(), own.bytes, i == 1 ? Order::overwrite : Order::after);
        b.next_round();
        if (i == 1) {
            // The first share comes to rest, then takes in the own one: no copy.
            b.combine(input(own.offset), output(), own.bytes, Order::before);
            b.next_round();
        }
    }
    return b.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

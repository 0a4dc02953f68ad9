// The vector is cut into P parts.  Each goes once around the ring and collects every rank's share, then once more to
// everybody.
//
//     step j: part r - j from rank r to r + 1, combined there;  P - 1 steps later part r + 1 is
//     complete at rank r, and goes on to r + 1, r + 2, ...
//
// Cost: 2 (P - 1) a + 2 n (P - 1) / P b + n (P - 1) / P g: every step goes to a neighbor, and no rank sends more than it
// must.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.5; Patarasuk, Yuan 2009.  Any number of ranks; operators that commute, because
// each part's order starts at another rank.  Long vectors.
#include "algorithms/blocks.h"

namespace fanlight::allreduce_algorithms {

Schedule ring(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    if (size == 1) {
        b.copy(input(), output(), problem.bytes);
        return b.finish();
    }
    const int next = (rank + 1) % size;
    const int previous = (rank + size - 1) % size;
    const auto part_at = [&](int i) { return part(problem, (i + 2 * size) % size); };
    // Sums that are on their way; output takes what is complete alone, since the rank before may
    // bring that while this one still passes the sum on.  The first reservation on all ranks.
    const Address sums = b.reserve(problem.bytes);
    for (int j = 0; j < size - 1; ++j) {
        const Block out = part_at(rank - j);
        const Block in = part_at(rank - j - 1);
        const Address there = j == size - 2 ? output() : sums;
        b.put(next, (j == 0 ? input() : sums) + out.offset, there + out.offset, out.bytes);
        b.arrive(previous, there + in.offset, in.bytes);
        b.next_round();
        b.combine(input(in.offset), there + in.offset, in.bytes, Order::after);
        b.next_round();
    }
    for (int j = 0; j < size - 1; ++j) {
        const Block out = part_at(rank + 1 - j);
        const Block in = part_at(rank - j);
        b.put(next, output(out.offset), output(out.offset), out.bytes);
        b.arrive(previous, output(in.offset), in.bytes);
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

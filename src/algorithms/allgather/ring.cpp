// Step j: block r - j goes to rank r + 1; each block goes once around the ring.
//
//     0 -> 1 -> 2 -> 3 -> 0
//
// Cost: (P - 1) (a + n b), n the length of a block (the longest, if they differ).
// Source: Thakur, Rabenseifner, Gropp 2005, 4.1.  Any number of ranks, blocks of any lengths (allgatherv uses it as it is);
// for long blocks, because every step goes to a neighbor.
#include "schedule/builder.h"

namespace fanlight::allgather_algorithms {

Schedule ring(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const int next = (rank + 1) % size;
    const int previous = (rank + size - 1) % size;
    for (int j = 0; j < size - 1; ++j) {
        const Block out = problem.block((rank - j + size) % size);
        const Block in = problem.block((rank - j - 1 + size) % size);
        b.put(next, j == 0 ? input() : output(out.offset), output(out.offset), out.bytes);
        b.arrive(previous, output(in.offset), in.bytes);
        b.next_round();
    }
    // Last: nobody waits for it.
    const Block own = problem.block(rank);
    b.copy(input(), output(own.offset), own.bytes);
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms

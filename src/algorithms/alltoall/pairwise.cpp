// Round i: block r + i goes to rank r + i, and rank r - i's block comes in.
//
// Cost: (P - 1) (a + n b), n the length of a block (the longest, if they differ).  In each round every rank sends to one
// peer and receives from one, so there is no contention.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.3.  Any number of ranks, blocks of any lengths (alltoallv uses it as it is);
// long blocks.
#include "schedule/builder.h"

namespace fanlight::alltoall_algorithms {

Schedule pairwise(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Block own = problem.send(rank), place = problem.block(rank);
    // Only its target knows where a block of alltoallv's goes.
    const Address there = problem.operation == Operation::alltoall ? output(place.offset) : unknown();
    for (int i = 1; i < size; ++i) {
        const int target = (rank + i) % size;
        const int source = (rank - i + size) % size;
        const Block out = problem.send(target);
        const Block in = problem.block(source);
        b.put(target, input(out.offset), there, out.bytes);
        b.arrive(source, output(in.offset), in.bytes);
        b.next_round();
    }
    b.copy(input(own.offset), output(place.offset), own.bytes);
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms

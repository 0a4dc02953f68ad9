// Round i: a block to rank r + i, one from rank r - i: alltoall/pairwise.cpp with blocks of any lengths, whose places only
// their targets know.
//
// Cost: (P - 1) (a + n b), n the length of the longest block; no contention.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.3.  Any number of ranks; long blocks.
#include "schedule/builder.h"

namespace fanlight::alltoallv_algorithms {

Schedule pairwise(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    for (int i = 1; i < size; ++i) {
        const int target = (rank + i) % size;
        const int source = (rank - i + size) % size;
        const Block out = problem.send(target);
        const Block in = problem.block(source);
        b.put(target, input(out.offset), unknown(), out.bytes);
        b.arrive(source, output(in.offset), in.bytes);
        b.next_round();
    }
    const Block own = problem.send(rank);
    b.copy(input(own.offset), output(problem.block(rank).offset), own.bytes);
    return b.finish();
}

}  // namespace fanlight::alltoallv_algorithms

// Round i: block r + i goes to rank r + i, and rank r - i's block comes in.
//
// Cost: (P - 1) (a + n b), n the length of a block.  In each round every rank sends to one peer and receives from one, so
// there is no contention.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.3.  Any number of ranks; long blocks.
#include "schedule/builder.h"

namespace fanlight::alltoall_algorithms {

Schedule pairwise(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Block own = problem.block(rank);
    for (int i = 1; i < size; ++i) {
        const int target = (rank + i) % size;
        const int source = (rank - i + size) % size;
        const Block out = problem.block(target);
        const Block in = problem.block(source);
        b.put(target, input(out.offset), output(own.offset), out.bytes);
        b.arrive(source, output(in.offset), in.bytes);
        b.next_round();
    }
    b.copy(input(own.offset), output(own.offset), own.bytes);
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms

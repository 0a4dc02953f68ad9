// A chain: each rank receives the prefix of the ranks below, which is its result, and passes
// on that prefix combined with its own input.
//
//     0 -> 1 -> 2 -> 3
//
// Cost: (P - 1) (a + n b + n g); P - 1 messages, the fewest possible.
// Source: MPI standard, 6.11, as the operation is defined.  Any number of ranks and any
// operator; run piece by piece it is a pipeline.
#include "schedule/builder.h"

namespace fanlight::exscan_algorithms {

Schedule linear(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    const bool last = rank == problem.size - 1;
    if (rank == 0) {
        if (!last) b.put(1, input(), output(), bytes);
        return b.finish();
    }
    b.arrive(rank - 1, output(), bytes);
    b.next_round();
    if (!last) {
        const Address prefix = b.reserve(bytes);
        b.copy(output(), prefix, bytes);
        b.next_round();
        b.combine(input(), prefix, bytes, Order::after);
        b.next_round();
        b.put(rank + 1, prefix, output(), bytes);
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::exscan_algorithms

// A chain: each rank combines its input with the prefix from the rank below and passes it on.
//
//     0 -> 1 -> 2 -> 3
//
// Cost: (P - 1) (a + n b + n g); P - 1 messages, the fewest possible.
// Source: MPI standard, 6.11, as the operation is defined.  Any number of ranks and any
// operator; run piece by piece it is a pipeline.
#include "schedule/builder.h"

namespace fanlight::scan_algorithms {

Schedule linear(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    const bool last = rank == problem.size - 1;
    if (rank == 0) {
        if (!last) b.put(1, input(), output(), bytes);
        b.copy(input(), output(), bytes);
        return b.finish();
    }
    b.arrive(rank - 1, output(), bytes);
    b.next_round();
    b.combine(input(), output(), bytes, Order::after);
    b.next_round();
    if (!last) b.put(rank + 1, output(), output(), bytes);
    return b.finish();
}

}  // namespace fanlight::scan_algorithms

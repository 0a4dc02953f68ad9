// Step k: the combination of the last 2^k operands goes from rank r to rank r + 2^k, which
// then has the last 2^(k+1).
//
//     0 -> 1 -> 2 -> 3 -> 4      0 -> 2 -> 4, 1 -> 3      0 -> 4
//
// Cost: ceil(log2 P) (a + n b + n g).
// Source: Hillis, Steele 1986.  Any number of ranks and any operator.
#include "algorithms/prefix.h"

namespace fanlight::scan_algorithms {

Schedule recursive_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    // Step 0 goes from input to the free output: nobody but rank 0 copies its input.
    if (rank + 1 < problem.size) b.put(rank + 1, input(), output(), bytes);
    if (rank == 0) {
        b.copy(input(), output(), bytes);
    } else {
        b.arrive(rank - 1, output(), bytes);
        b.next_round();
        b.combine(input(), output(), bytes, Order::after);
    }
    b.next_round();
    double_prefixes(b, problem, 0, 2, output());
    return b.finish();
}

}  // namespace fanlight::scan_algorithms

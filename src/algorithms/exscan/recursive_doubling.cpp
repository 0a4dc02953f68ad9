// Inputs move up by one rank; what ranks 1 ... P - 1 then hold is scanned by doubling.
//
//     0 -> 1 -> 2 -> 3 -> 4, no combining;  then 1 -> 2 -> 3 -> 4;  then 1 -> 3, 2 -> 4
//
// Cost: (1 + ceil(log2(P - 1))) (a + n b) + ceil(log2(P - 1)) n g.  One latency more than a
// scan that carries two values, but half its combining, and no copy.
// Source: Hillis, Steele 1986.  Any number of ranks and any operator.
#include "algorithms/prefix.h"

namespace fanlight::exscan_algorithms {

Schedule recursive_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    if (rank + 1 < problem.size) b.put(rank + 1, input(), output(), problem.bytes);
    if (rank > 0) b.arrive(rank - 1, output(), problem.bytes);
    b.next_round();
    double_prefixes(b, problem, 1, 1, output());
    return b.finish();
}

}  // namespace fanlight::exscan_algorithms

// Partners at distance 1, 2, 4 ... signal each other.
//
//     0 <-> 1   2 <-> 3        then  0 <-> 2   1 <-> 3
//
// Where P is no power of two, the first ranks are folded in pairs (fold.h).
//
// Cost: log2 P a; 2 a more for the folding.
// Source: Intra-Cell 3.2 (PE).  Any number of ranks.
#include "algorithms/fold.h"
#include "schedule/builder.h"

namespace fanlight::barrier_algorithms {

Schedule pairwise_exchange(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const Fold fold(problem.size);
    if (fold.folded(rank)) {
        b.put(rank + 1, input(), output(), 0);
        b.arrive(rank + 1, output(), 0);
        return b.finish();
    }
    if (fold.in_pair(rank)) {
        b.arrive(rank - 1, output(), 0);
        b.next_round();
    }
    for (int distance = 1; distance < fold.count; distance *= 2) {
        const int partner = fold.rank(fold.number(rank) ^ distance);
        b.put(partner, input(), output(), 0);
        b.arrive(partner, output(), 0);
        b.next_round();
    }
    if (fold.in_pair(rank)) b.put(rank - 1, input(), output(), 0);
    return b.finish();
}

}  // namespace fanlight::barrier_algorithms

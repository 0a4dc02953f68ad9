// The vector goes down a binomial tree; the largest subtree is served first.
//
//     0 -> 4 -> 6 -> 7
//     |    +--> 5
//     +--> 2 -> 3
//     +--> 1
//
// Cost: ceil(log2 P) (a + n b).
// Source: RMA trees II (binomial tree); Intra-Cell 3.3 (TREEMM).  Any number of ranks.
#include "algorithms/reduction.h"

namespace fanlight::bcast_algorithms {

Schedule binomial(const Problem& problem) {
    return put_down(problem, tree_for(problem, problem.root, 2));
}

}  // namespace fanlight::bcast_algorithms

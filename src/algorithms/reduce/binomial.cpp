// Results go up a binomial tree and are combined at each node, in rank order for every root.
//
//     7 -> 6 -> 4 -> 0      subtrees are intervals of ranks: see trees.h
//          5 ---^    |
//          3 -> 2 ---+
//               1 ---+
//
// Cost: ceil(log2 P) (a + n b + n g), g the time to combine a byte.
// Source: Intra-Cell 3.4 (TREEMM); Thakur, Rabenseifner, Gropp 2005, 4.5.  Any number of ranks
// and any operator.
#include "algorithms/reduction.h"

namespace fanlight::reduce_algorithms {

Schedule binomial(const Problem& problem) {
    return put_up(problem, tree_for(problem, problem.root, 2));
}

}  // namespace fanlight::reduce_algorithms

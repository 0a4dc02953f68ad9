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
    Builder b(problem);
    const Tree tree = tree_for(problem, problem.root, 2);
    const bool root = tree.parent < 0;
    // The first reservation, so at the same place on all ranks; a leaf needs but the address.
    const Address sum = b.reserve(root || tree.children.empty() ? 0 : problem.bytes);
    reduce_up(b, problem, tree, root ? output() : sum,
              tree.parent == problem.root ? output() : sum);
    return b.finish();
}

}  // namespace fanlight::reduce_algorithms

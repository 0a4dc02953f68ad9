// Results go up a tree of degree k; each rank reads its children's and combines them in rank order.  Degree 1 is a
// pipeline.
//
//     0 <- 1, 2, 3, 6     3 <- 4, 5     6 <- 7, 8       (degree 3, 9 ranks)
//
// Run piece by piece, a rank combines a piece while its parent reads the previous one: the paper's double buffering, in the
// areas of the staging.
//
// Cost: h (k - 1) (a + n b + n g), h the tree's height, at most ceil(log_k P).
// Source: Intra-Cell 3.4 (TREE).  Any number of ranks and any operator; degree 3 unless another is given.
#include "algorithms/reduction.h"

namespace fanlight::reduce_algorithms {

Schedule tree(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, problem.root, 3);
    const bool root = tree.parent < 0;
    read_up(b, problem, tree,
            root ? output() : b.reserve(tree.children.empty() ? 0 : problem.bytes));
    return b.finish();
}

}  // namespace fanlight::reduce_algorithms

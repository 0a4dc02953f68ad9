// The vector goes down a tree of degree k, each rank reading it from its parent; degree 1 is a pipeline.
//
//     0 <- 1, 2, 3, 6     3 <- 4, 5     6 <- 7, 8       (degree 3, 9 ranks)
//
// Run piece by piece, a rank reads a piece from its parent while its children read the previous one: the paper's double
// buffering, in the areas of the staging.
//
// Cost: h (a + n b), h the tree's height, at most ceil(log_k P); with M pieces (h + M - 1) (a + n / M b).
// Source: Intra-Cell 3.3 (TREE).  Any number of ranks; degree 3 unless another is given.
#include "algorithms/trees.h"
#include "schedule/builder.h"

namespace fanlight::bcast_algorithms {

Schedule tree(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, problem.root, 3);
    const bool root = tree.parent < 0;
    if (!root) {
        b.get(tree.parent, 0, tree.parent == problem.root ? input() : output(), output(),
              problem.bytes);
        b.next_round();
    }
    if (!tree.children.empty())
        b.offer(root ? input() : output(), problem.bytes, tree.ranks_of_children());
    if (root) b.copy(input(), output(), problem.bytes);
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

// Reduce to rank 0 up a tree of degree k by reads, then broadcast from it down the same tree by reads: reduce/tree.cpp,
// then bcast/tree.cpp.
//
// Cost: h (k - 1) (a + n b + n g) + h (a + n b), h the tree's height, at most ceil(log_k P).
// Source: Intra-Cell 3.4 and 3.3 (TREE).  Any number of ranks and any operator; all ranks get rank 0's bits.  Degree 3
// unless another is given.
#include "algorithms/reduction.h"

namespace fanlight::allreduce_algorithms {

Schedule tree(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, 0, 3);
    const bool root = tree.parent < 0;
    // Not in output, which the way down writes while the parent may still read.
    const Address sum = b.reserve(root || tree.children.empty() ? 0 : problem.bytes);
    read_up(b, problem, tree, root ? output() : sum);
    if (!root) {
        // Every rank but the root has made an offer on the way up.
        b.get(tree.parent, tree.parent == 0 ? 0 : 1, output(), output(), problem.bytes);
        b.next_round();
    }
    if (!tree.children.empty()) b.offer(output(), problem.bytes, tree.ranks_of_children());
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

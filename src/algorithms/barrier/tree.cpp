// Signals go up a tree of degree k to rank 0, then down the same tree.
//
//     up: 8 7 -> 6, 5 4 -> 3, 2 1 -> 0, then 6 3 -> 0        down: the reverse
//
// Cost: 2 ceil(log_k P) a; 2 (P - 1) signals.  Degree P and more: all to rank 0 and back, which is the paper's OTA with its
// root.
// Source: Intra-Cell 3.2 (TREE).  Any number of ranks; degree 3 unless another is given.
#include "algorithms/trees.h"
#include "schedule/builder.h"

namespace fanlight::barrier_algorithms {

Schedule tree(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, 0, 3);
    for (const Subtree& child : tree.children) b.arrive(child.rank, output(), 0);
    b.next_round();
    if (tree.parent >= 0) {
        b.put(tree.parent, input(), output(), 0);
        b.arrive(tree.parent, output(), 0);
        b.next_round();
    }
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
        b.put(child->rank, input(), output(), 0);
    return b.finish();
}

}  // namespace fanlight::barrier_algorithms

// The vector goes down a binomial tree; the largest subtree is served first.
//
//     0 -> 4 -> 6 -> 7
//     |    +--> 5
//     +--> 2 -> 3
//     +--> 1
//
// Cost: ceil(log2 P) (a + n b).
// Source: RMA trees II (binomial tree); Intra-Cell 3.3 (TREEMM).  Any number of ranks.
#include "algorithms/trees.h"
#include "schedule/builder.h"

namespace fanlight::bcast_algorithms {

Schedule binomial(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, problem.root, 2);
    const bool root = tree.parent < 0;
    if (!root) {
        b.arrive(tree.parent, output(), problem.bytes);
        b.next_round();
    }
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
        b.put(child->rank, root ? input() : output(), output(), problem.bytes);
    // After the puts: nobody waits for it.
    if (root) b.copy(input(), output(), problem.bytes);
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

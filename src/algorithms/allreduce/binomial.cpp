// Reduce to rank 0 up a binomial tree, broadcast from it down the same tree.
//
// Cost: 2 ceil(log2 P) (a + n b) + ceil(log2 P) n g.
// Source: Intra-Cell 3.4 and 3.3 (TREEMM).  Any number of ranks and any operator; all ranks
// get rank 0's bits.
#include "algorithms/reduction.h"

namespace fanlight::allreduce_algorithms {

Schedule binomial(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, 0, 2);
    const bool root = tree.parent < 0;
    // Not in output, which the way down writes.  The first reservation, so at the same place
    // on all ranks; a leaf needs but the address.
    const Address sum = b.reserve(root || tree.children.empty() ? 0 : problem.bytes);
    reduce_up(b, problem, tree, root ? output() : sum, tree.parent == 0 ? output() : sum);
    if (!root) {
        b.arrive(tree.parent, output(), problem.bytes);
        b.next_round();
    }
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
        b.put(child->rank, output(), output(), problem.bytes);
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

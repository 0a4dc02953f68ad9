#include "algorithms/bcast/scatter_and_ring.h"

#include "algorithms/blocks.h"

namespace fanlight::bcast_algorithms {

Tree tree_of_parts(const Problem& problem, int relative_rank) {
    return binomial_tree(relative_rank, problem.size, 0);
}

void scatter_parts(Builder& b, const Problem& problem, const Tree& tree,
                   Address vector) {
    const bool root = tree.parent < 0;
    if (!root) {
        const Block own = parts(problem, tree.own.first, tree.own.count);
        b.arrive(problem.absolute(tree.parent), vector + own.offset, own.bytes);
        b.next_round();
    }
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        const Block all = parts(problem, child->first, child->count);
        b.put(problem.absolute(child->rank), (root ? input() : vector) + all.offset,
              vector + all.offset, all.bytes);
    }
    // After the puts, and nobody waits for it: the ring reads the root's input as well.
    if (root) b.copy(input(), output(), problem.bytes);
    b.next_round();
}

}  // namespace fanlight::bcast_algorithms

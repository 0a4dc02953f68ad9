// Blocks go up a binomial tree; a node packs its subtree's blocks in scratch, in rank order.
//
//     7 -> 6 => 4 ===> 0      subtrees are intervals of ranks for every root: see trees.h
//          5 ---^      |
//          3 -> 2 =====+
//               1 -----+
//
// Cost: ceil(log2 P) a + n (P - 1) b, n the length of a block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.2.  Any number of ranks,
// blocks of any lengths.
#include "algorithms/blocks.h"
#include "algorithms/trees.h"

namespace fanlight::gather_algorithms {

Schedule binomial(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, problem.root, 2);
    const bool root = tree.parent < 0;
    const bool leaf = tree.children.empty();
    const Subtree& own = tree.own;
    // Where a block lies in the packed interval that starts with rank `first`.
    const auto packed = [&](int rank, int first) { return packed_offset(problem, rank) - packed_offset(problem, first); };
    const auto length = [&](const Subtree& s) { return packed(s.first + s.count, s.first); };
    const Block block = problem.block(problem.rank);
    // The first reservation, so at the same place on all ranks; a leaf needs but the address.
    const Address below =
        b.reserve(root || leaf ? 0 : length(own));

    if (root) {
        b.copy(input(), output(block.offset), block.bytes);
    } else if (!leaf) {
        b.copy(input(), below + packed(problem.rank, own.first), block.bytes);
    }
    for (const Subtree& child : tree.children) {
        if (root) {
            arrive_blocks(b, problem, child.rank, Buffer::output, child.first, child.count);
        } else {
            b.arrive(child.rank, below + packed(child.first, own.first), length(child));
        }
    }
    b.next_round();

    const Address from = leaf ? input() : below;
    if (root) {
        // has it all
    } else if (tree.parent == problem.root) {
        for (const BlockRun& run : runs(problem, own.first, own.count))
            b.put(tree.parent, from + run.packed, output(run.offset), run.bytes);
    } else {
        b.put(tree.parent, from, below + packed(own.first, tree.parents.first), length(own));
    }
    return b.finish();
}

}  // namespace fanlight::gather_algorithms

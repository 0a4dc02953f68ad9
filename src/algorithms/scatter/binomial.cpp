// Blocks go down a binomial tree, the largest subtree's first; a node keeps its subtree's
// blocks packed in scratch until they have gone on.
//
//     0 ==[4567]=> 4 =[67]=> 6 -[7]-> 7      subtrees are intervals of ranks for every root:
//     |            +---[5]-> 5               see trees.h
//     +===[23]===> 2 --[3]-> 3
//     +---[1]----> 1
//
// Cost: ceil(log2 P) a + n (P - 1) b, n the length of a block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.2; Pruned ring, figures 1 and 2.  Any number of
// ranks, blocks of any lengths.
#include "algorithms/blocks.h"
#include "algorithms/trees.h"

namespace fanlight::scatter_algorithms {

Schedule binomial(const Problem& problem) {
    Builder b(problem);
    const Tree tree = tree_for(problem, problem.root, 2);
    const bool root = tree.parent < 0;
    const bool leaf = tree.children.empty();
    const Subtree& own = tree.own;
    const auto packed = [&](int rank, int first) { return packed_offset(problem, rank) - packed_offset(problem, first); };
    const auto length = [&](const Subtree& s) { return packed(s.first + s.count, s.first); };
    const Block block = problem.block(problem.rank);
    // The first reservation, so at the same place on all ranks; a leaf takes its only block
    // straight to output.
    const Address below = b.reserve(root || leaf ? 0 : length(own));
    const auto arrives_at = [&](const Subtree& subtree) {
        return subtree.count > 1 ? below : output();
    };

    if (root) {
        // handled below
    } else if (tree.parent == problem.root) {
        for (const BlockRun& run : runs(problem, own.first, own.count))
            b.arrive(tree.parent, arrives_at(own) + run.packed, run.bytes);
    } else {
        b.arrive(tree.parent, arrives_at(own), length(own));
    }
    b.next_round();

    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
        if (root) {
            for (const BlockRun& run : runs(problem, child->first, child->count))
                b.put(child->rank, input(run.offset), arrives_at(*child) + run.packed, run.bytes);
        } else {
            b.put(child->rank, below + packed(child->first, own.first), arrives_at(*child), length(*child));
        }
    }
    // The own block last: nobody waits for it.
    if (root) {
        b.copy(input(block.offset), output(), block.bytes);
    } else if (!leaf) {
        b.copy(below + packed(problem.rank, own.first), output(), block.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::scatter_algorithms

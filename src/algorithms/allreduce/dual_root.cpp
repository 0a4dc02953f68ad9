// The lower and the upper half of the ranks each reduce up a binary tree of their own.  The two roots exchange their
// results and combine them; then the sum goes down the same trees.
//
//     0 1 -> 2    3 4 -> 5    2 5 -> 6 <-> 13 <- 9 12 ...      a rank's subtrees lie below it: rank order is kept
//
// Run piece by piece, pieces go up and down at the same time, and every rank has at most three neighbors.
//
// Cost: (2 h + 1) (a + n b) + (2 h + 1) n g, h = floor(log2(P / 2)) the trees' height; with M pieces
// (2 h + 1 + 3 (M - 1)) (a + n / M (b + g)).
// Source: Träff 2021 (doubly-pipelined, dual-root reduction-to-all).  Any number of ranks and any operator; both roots
// compute lower (+) upper, so all ranks get the same bits.
#include "algorithms/reduction.h"

namespace fanlight::allreduce_algorithms {

Schedule dual_root(const Problem& problem) {
    Builder b(problem);
    const std::size_t bytes = problem.bytes;
    if (problem.size == 1) {
        b.copy(input(), output(), bytes);
        return b.finish();
    }
    const int half = problem.size / 2;
    const bool lower = problem.rank < half;
    const Tree tree = lower ? binary_tree(problem.rank, 0, half) : binary_tree(problem.rank, half, problem.size - half);
    const bool leaf = tree.children.empty(), root = tree.parent < 0;
    // Not in output, which the way down writes while the parent may still read.
    const Address sum = b.reserve(leaf ? 0 : bytes);
    if (!root || !leaf) read_up(b, problem, tree, sum);
    if (root) {
        const int other = lower ? problem.size - 1 : half - 1;
        const Address own = leaf ? input() : sum;
        b.offer_to(other, own, bytes);
        b.get(other, 0, (lower ? problem.size - half : half) == 1 ? input() : sum, output(), bytes);
        b.next_round();
        b.combine(own, output(), bytes, lower ? Order::before : Order::after);
    } else {
        // Every rank has made one offer on the way up, or to the other root.
        b.get(tree.parent, 1, output(), output(), bytes);
    }
    b.next_round();
    if (!leaf) b.offer(output(), bytes, tree.ranks_of_children());
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

// As scatter_ring_allgather, but a rank keeps the parts of its whole subtree that the scatter has brought it anyway, and
// the ring does not bring them again.  The ring opens: the root receives nothing, and rank 4 of 8, which has 4 5 6 7, is
// done after 3 2 1 0.
//
// Cost: (ceil(log2 P) + P - 1) a + 2 n (P - 1) / P b for the last rank, as before, but fewer messages compete for the
// links: P^2 - (sum of all subtrees' sizes) in the ring, 44 instead of 56 for 8 ranks, 75 instead of 90 for 10.
// Source: Pruned ring IV (MPI_Bcast_opt).  Any number of ranks.
#include "algorithms/bcast/scatter_and_ring.h"
#include "algorithms/blocks.h"

namespace fanlight::bcast_algorithms {
namespace {

bool has_from_scatter(const Tree& tree, int part) {
    return tree.own.first <= part && part < tree.own.first + tree.own.count;
}

}  // namespace

Schedule pruned_ring(const Problem& problem) {
    Builder b(problem);
    const int size = problem.size;
    const int relative = problem.relative(problem.rank);
    const Tree tree = tree_of_parts(problem, relative);
    const Tree next_tree = tree_of_parts(problem, (relative + 1) % size);
    scatter_parts(b, problem, tree, output());

    const Address source = relative == 0 ? input() : output();
    const int next = problem.absolute(relative + 1);
    const int previous = problem.absolute(relative + size - 1);
    for (int j = 0; j < size - 1; ++j) {
        const int out = (relative - j + size) % size;
        const int in = (relative - j - 1 + size) % size;
        if (!has_from_scatter(next_tree, out)) {
            const Block block = part(problem, out);
            b.put(next, source + block.offset, output(block.offset), block.bytes);
        }
        if (!has_from_scatter(tree, in)) {
            const Block block = part(problem, in);
            b.arrive(previous, output(block.offset), block.bytes);
        }
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

// In each step the partners of Bine's butterfly (butterfly.h), the nearest first, halve the blocks that they are
// responsible for.  The blocks lie packed in the order in which that divides them.
//
// Cost: log2 P a + (P - 1) n (b + g) + P n c, n the length of a block, c the time to copy a byte.  Up to a third less
// crosses shared links between nodes.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).  A power of two of ranks, blocks of any lengths (reduce_scatter
// uses it as it is); operators that commute.
#include "algorithms/butterfly.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule bine(const Problem& problem) {
    Builder b(problem);
    const Butterfly butterfly(problem.size, true);
    const PackedParts parts(problem, butterfly);
    const Address sums = b.reserve(parts.bytes(0, problem.size));
    for (int r = 0; r < problem.size; ++r) b.copy(input(problem.block(r).offset), sums + parts.bytes(0, butterfly.part(r)), problem.block(r).bytes);
    b.next_round();
    for (int k = 0; k < butterfly.steps(); ++k) {
        const auto [partner, mine, theirs] = parts.step(k);
        b.put(partner, sums + theirs.offset, sums + theirs.offset, theirs.bytes);
        b.arrive(partner, sums + mine.offset, mine.bytes, Order::after);
        b.next_round();
    }
    b.copy(sums + parts.bytes(0, butterfly.part(problem.rank)), output(), problem.block(problem.rank).bytes);
    return b.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

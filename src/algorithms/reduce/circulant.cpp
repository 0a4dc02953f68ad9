// bcast/circulant.cpp in reverse: blocks flow through the circulant graph to the root, and each rank combines what arrives
// with its own before it passes it on.
//
// Cost: (M - 1 + ceil(log2 P)) (a + n / M (b + g)) for M blocks, the fewest rounds possible.
// Source: Träff, arXiv 2407.18004.  Any number of ranks; operators that commute.  M is so large that a block has
// Parameters::minimum bytes (8 KiB), at most 64.
#include <vector>

#include "algorithms/circulant.h"

namespace fanlight::reduce_algorithms {

Schedule circulant(const Problem& problem) {
    Builder b(problem);
    const FlowOfBlocks flow(problem);
    const bool root = problem.rank == problem.root;
    if (problem.size == 1) b.copy(input(), output(), problem.bytes);
    const Address sums = b.reserve(problem.size > 1 ? problem.bytes : 0);
    const Address here = root ? output() : sums;
    std::vector<bool> begun(static_cast<std::size_t>(flow.blocks()), false);
    for (int t = flow.rounds(); t-- > 0;) {
        // What goes out in a broadcast comes in, and the other way round.
        const auto [child, taken, parent, given] = flow.round(t);
        if (given >= 0) {
            const Block block = flow.block(given);
            const bool alone = !begun[static_cast<std::size_t>(given)];
            b.put(parent, (alone ? input() : here) + block.offset, (parent == problem.root ? output() : sums) + block.offset, block.bytes);
        }
        if (taken >= 0) {
            const Block block = flow.block(taken);
            const bool first = !begun[static_cast<std::size_t>(taken)];
            begun[static_cast<std::size_t>(taken)] = true;
            b.arrive(child, here + block.offset, block.bytes, first ? Order::overwrite : Order::after);
            b.next_round();
            // What comes first takes in the own input, without a copy.
            if (first) b.combine(input(block.offset), here + block.offset, block.bytes, Order::before);
        }
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::reduce_algorithms

// The vector's blocks flow from the root through a circulant graph: in each round every rank receives a block from the rank
// s before it, s one of ceil(log2 P) skips in turn, and passes one on to the rank s after it.
//
//     5 ranks, skips 1 2 3:  0 -> 1;  0 -> 2, 1 -> 3;  0 -> 3, 1 -> 4, 2 -> 0 ...; then again, with the next blocks
//
// Cost: (M - 1 + ceil(log2 P)) (a + n / M b) for M blocks, the fewest rounds possible: no rank gets a block twice.
// Each rank finds its own part of the schedule in O(log P) steps, and its peers' likewise.
// Source: Träff, arXiv 2407.18004 and 2312.11236.  Any number of ranks.  M is so large that a block has Parameters::minimum
// bytes (8 KiB), at most 64.
#include "algorithms/circulant.h"

namespace fanlight::bcast_algorithms {

Schedule circulant(const Problem& problem) {
    Builder b(problem);
    const FlowOfBlocks flow(problem);
    const bool root = problem.rank == problem.root;
    for (int t = 0; t < flow.rounds(); ++t) {
        const auto [to, sent, from, received] = flow.round(t);
        b.next_round();
        if (sent >= 0) {
            const Block block = flow.block(sent);
            b.put(to, root ? input(block.offset) : output(block.offset), output(block.offset), block.bytes);
        }
        if (received >= 0) b.arrive(from, output(flow.block(received).offset), flow.block(received).bytes);
    }
    // Last: nobody waits for it.
    if (root) b.copy(input(), output(), problem.bytes);
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

// Every rank's block, cut into parts, flows from it through a circulant graph (bcast/circulant.cpp), those of all ranks at
// the same time.  In each round rank r sends rank r + s (s one of ceil(log2 P) skips in turn) the next part of each block.
//
// Cost: (M - 1 + ceil(log2 P)) a + (P - 1) n b, M the number of parts, n the length of a block.  Blocks of one length have
// 1 part: the fewest rounds possible.
// Source: Träff, arXiv 2407.18004.  Any number of ranks, blocks of any lengths (allgatherv uses it as it is).  M is so large
// that no part is longer than the mean block and Parameters::minimum bytes (8 KiB), at most 64: one long block must not go
// from rank to rank as a whole.
#include "algorithms/circulant.h"

namespace fanlight::allgather_algorithms {

Schedule circulant(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank, size = problem.size;
    const FlowsToAll flows(problem);
    b.copy(input(), output(problem.block(rank).offset), problem.block(rank).bytes);
    for (int t = 0; t < flows.rounds(); ++t) {
        b.next_round();
        const int to = (rank + flows.skip(t)) % size, from = (rank - flows.skip(t) + size) % size;
        for (const Block& part : flows.come_to(to, t)) b.put(to, output(part.offset), output(part.offset), part.bytes);
        for (const Block& part : flows.come_to(rank, t)) b.arrive(from, output(part.offset), part.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms

// Every rank's block, in parts, flows from it through a circulant graph (bcast/circulant.cpp), all ranks' at the same time:
// in each round rank r gives r + s, s one of ceil(log2 P) skips in turn, what that is to have next of each rank.
//
// Cost: (M - 1 + ceil(log2 P)) a + (P - 1) n b, M the number of parts, n the length of a block: of blocks of one length 1
// part, as few rounds as there can be.
// Source: Träff, arXiv 2407.18004.  Any number of ranks, blocks of any lengths (allgatherv uses it as it is): M as many as
// make no part longer than the mean of all blocks and Parameters::minimum bytes (8 KiB), at most 64, so that one long block
// does not go as a whole from rank to rank.
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

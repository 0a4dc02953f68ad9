// Everybody offers its block and reads all the others', starting at its neighbor's.
//
// Cost: a + (P - 1) n b in one round.
// Source: Intra-Cell 4 (allgather, built like the broadcast of 3.3, OTA).  Any number of ranks, blocks of any lengths
// (allgatherv uses it as it is).
#include "algorithms/peers.h"

namespace fanlight::allgather_algorithms {

Schedule all_read_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    int blocks = 0;
    if (problem.size > 1) blocks = b.offer_to_all_others(input(), own.bytes);
    b.copy(input(), output(own.offset), own.bytes);
    for (int peer : others(problem)) {
        const Block theirs = problem.block(peer);
        b.get(peer, blocks, input(), output(theirs.offset), theirs.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms

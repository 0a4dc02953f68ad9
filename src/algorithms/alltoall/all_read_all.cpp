// Everybody offers all its blocks and reads its own from everybody, starting at its neighbor.
//
// Cost: a + (P - 1) n b in one round, n the length of a block.
// Source: Intra-Cell 4 (alltoall), built like 3.3 (OTA).  Any number of ranks.
#include "algorithms/blocks.h"
#include "algorithms/peers.h"

namespace fanlight::alltoall_algorithms {

Schedule all_read_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    offer_blocks(b, problem);
    b.copy(input(own.offset), output(own.offset), own.bytes);
    for (int peer : others(problem)) {
        const Block theirs = problem.block(peer);
        b.get(peer, offer_of_block(problem, peer, problem.rank), offered_block(problem, problem.rank), output(theirs.offset),
              theirs.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms

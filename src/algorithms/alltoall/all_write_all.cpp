// Everybody puts its blocks to everybody, all at the same time, beginning with its neighbor's.
//
// Cost: a + (P - 1) n b in one round, n the length of a block.  If blocks are staged, each is for one reader.  Beginning
// after the own rank is the usual "spread" order.
// Source: Intra-Cell 4 (alltoall); 3.3 (G), from all ranks.  Any number of ranks.
#include "algorithms/peers.h"

namespace fanlight::alltoall_algorithms {

Schedule all_write_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    for (int peer : others(problem))
        b.put(peer, input(problem.block(peer).offset), output(own.offset), own.bytes);
    b.copy(input(own.offset), output(own.offset), own.bytes);
    for (int peer : others(problem))
        b.arrive(peer, output(problem.block(peer).offset), own.bytes);
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms

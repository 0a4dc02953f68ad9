// Everybody puts its blocks to everybody, all at the same time, beginning with its neighbor's.
//
// Cost: a + (P - 1) n b in one round, n the length of a block.  If blocks are staged, each is for one reader.  Beginning
// after the own rank is the usual "spread" order.
// Source: Intra-Cell 4 (alltoall); 3.3 (G), from all ranks.  Any number of ranks, blocks of any lengths (alltoallv uses it
// as it is: a rank knows neither where in its peers' outputs its blocks go nor where in their inputs they lie, so nothing
// can be read, and only the target of a put knows its place).
#include "algorithms/peers.h"

namespace fanlight::alltoall_algorithms {

Schedule all_write_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.send(problem.rank), place = problem.block(problem.rank);
    const Address there = problem.operation == Operation::alltoall ? output(place.offset) : unknown();
    for (int peer : others(problem)) {
        const Block out = problem.send(peer);
        b.put(peer, input(out.offset), there, out.bytes);
    }
    b.copy(input(own.offset), output(place.offset), own.bytes);
    for (int peer : others(problem)) {
        const Block in = problem.block(peer);
        b.arrive(peer, output(in.offset), in.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::alltoall_algorithms

// Everybody puts its blocks to everybody, all at the same time, beginning with its neighbor's.
//
// A rank knows what it sends and what it receives, but neither where in its peers' outputs its blocks go nor where in their
// inputs they lie.  So nothing can be read, and only the target of a put knows its place.
//
// Cost: a + (sum of the other blocks' lengths) b in one round.
// Source: Intra-Cell 4 (vector forms); 3.3 (G), from all ranks.  Any number of ranks.
#include "algorithms/peers.h"

namespace fanlight::alltoallv_algorithms {

Schedule all_write_all(const Problem& problem) {
    Builder b(problem);
    for (int peer : others(problem)) {
        const Block out = problem.send(peer);
        b.put(peer, input(out.offset), unknown(), out.bytes);
    }
    const Block own = problem.send(problem.rank);
    b.copy(input(own.offset), output(problem.block(problem.rank).offset), own.bytes);
    for (int peer : others(problem)) {
        const Block in = problem.block(peer);
        b.arrive(peer, output(in.offset), in.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::alltoallv_algorithms

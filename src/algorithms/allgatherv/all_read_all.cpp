// Everybody reads everybody's block, as in allgather/all_read_all.cpp.  All ranks know all lengths, so nobody waits for a
// rank that has nothing.
//
// Cost: a + (sum of the other blocks' lengths) b in one round.
// Source: Intra-Cell 4 (vector forms), 3.3 (OTA).  Any number of ranks.
#include "algorithms/blocks.h"
#include "algorithms/peers.h"

namespace fanlight::allgatherv_algorithms {

Schedule all_read_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    if (problem.size > 1 && own.bytes > 0) b.offer_to_all_others(input(), own.bytes);
    b.copy(input(), output(own.offset), own.bytes);
    for (int peer : others(problem)) {
        const Block theirs = problem.block(peer);
        if (theirs.bytes > 0) b.get(peer, 0, input(), output(theirs.offset), theirs.bytes);
    }
    Schedule result = b.finish();
    result.bounds = bounds_of_all(problem, 1, [&](int rank, auto add) { add(problem.block(rank).bytes); });
    return result;
}

}  // namespace fanlight::allgatherv_algorithms

// The root puts everybody's block.
//
// Reading is no choice here: a rank knows its block's length, but not where the block lies at
// the root.
//
// Cost: a + (sum of the other blocks' lengths) b in one round, all at the root.
// Source: RMA trees II (linear); Intra-Cell 3.3 (G).  Any number of ranks.
#include "algorithms/peers.h"

namespace fanlight::scatterv_algorithms {

Schedule root_writes_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    if (problem.rank == problem.root) {
        for (int peer : others(problem)) {
            const Block theirs = problem.block(peer);
            b.put(peer, input(theirs.offset), output(), theirs.bytes);
        }
        b.copy(input(own.offset), output(), own.bytes);
    } else {
        b.arrive(problem.root, output(), own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::scatterv_algorithms

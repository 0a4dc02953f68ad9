// The root puts everybody's block, all at the same time.
//
// Cost: a + n (P - 1) b in one round, all at the root.
// Source: RMA trees II (linear); Intra-Cell 3.3 (G).  Any number of ranks, blocks of any lengths (scatterv uses it as it
// is; there nothing can be read, since a rank does not know where its block lies at the root).
#include "algorithms/peers.h"

namespace fanlight::scatter_algorithms {

Schedule root_writes_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    if (problem.rank == problem.root) {
        // A rank that scatterv's blocks go through alone knows where it has them.
        const Address there = problem.operation == Operation::scatter ? output() : unknown();
        for (int peer : others(problem)) {
            const Block theirs = problem.block(peer);
            b.put(peer, input(theirs.offset), there, theirs.bytes);
        }
        b.copy(input(own.offset), output(), own.bytes);
    } else {
        b.arrive(problem.root, output(), own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::scatter_algorithms

// Everybody puts its block to the root.
//
// Cost: a + n b in one round if the memory sustains P - 1 writers; the root copies its own block meanwhile.  For long
// blocks: the writers' cores move them instead of the root's.
// Source: RMA trees II (linear), reversed.  Any number of ranks, blocks of any lengths (gatherv uses it as it is): there
// every rank but the root only needs its own length.
#include "algorithms/peers.h"

namespace fanlight::gather_algorithms {

Schedule all_write_root(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    if (problem.rank == problem.root) {
        b.copy(input(), output(own.offset), own.bytes);
        for (int peer : others(problem)) {
            const Block theirs = problem.block(peer);
            b.arrive(peer, output(theirs.offset), theirs.bytes);
        }
    } else {
        // Only the root knows where a block of gatherv's goes.
        const bool known = problem.operation == Operation::gather;
        b.put(problem.root, input(), known ? output(own.offset) : unknown(), own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::gather_algorithms

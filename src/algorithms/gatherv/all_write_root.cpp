// Everybody puts its block to the root, which alone knows where it goes.
//
// Cost: a + n b in one round where the memory bears P - 1 writers, n the length of the longest
// block: the writers' cores move the blocks instead of the root's.
// Source: RMA trees II (linear), turned round.  Any number of ranks; a rank that is not the root
// needs its own length alone.
#include "algorithms/peers.h"

namespace fanlight::gatherv_algorithms {

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
        b.put(problem.root, input(), unknown(), own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::gatherv_algorithms

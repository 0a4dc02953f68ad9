// Everybody offers its block, the root reads them all.
//
// Cost: a + (P - 1) n b in one round, all at the root.
// Source: Intra-Cell 4 (gather), built like 3.3 (OTA).  Any number of ranks, blocks of any lengths (gatherv uses it as it
// is): every rank but the root only needs its own length.
#include "algorithms/peers.h"

namespace fanlight::gather_algorithms {

Schedule root_reads_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    if (problem.rank == problem.root) {
        b.copy(input(), output(own.offset), own.bytes);
        for (int peer : others(problem)) {
            const Block theirs = problem.block(peer);
            if (theirs.bytes > 0) b.get(peer, 0, input(), output(theirs.offset), theirs.bytes);
        }
    } else if (own.bytes > 0) {
        b.offer_to(problem.root, input(), own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::gather_algorithms

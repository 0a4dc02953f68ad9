// The root puts the vector to everybody, all puts at the same time.
//
// Cost: a + (P - 1) n b in one round, all at the root.  For few ranks and short vectors, which
// the root's core has in its cache.
// Source: Intra-Cell 3.3 (G).  Any number of ranks.
#include "algorithms/peers.h"

namespace fanlight::bcast_algorithms {

Schedule root_writes_all(const Problem& problem) {
    Builder b(problem);
    if (problem.rank == problem.root) {
        for (int peer : others(problem)) b.put(peer, input(), output(), problem.bytes);
        b.copy(input(), output(), problem.bytes);
    } else {
        b.arrive(problem.root, output(), problem.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

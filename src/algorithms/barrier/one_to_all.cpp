// Everybody signals everybody, and waits for all the others.
//
// Cost: one round; P - 1 zero-byte offers read by each rank: a + (P - 2) o, where o is the overhead of loading one more
// flag.  The paper's OTA goes through a root and takes two latencies; with flags in shared memory no root is needed.
// Source: Intra-Cell 3.2 (OTA).  Any number of ranks.
#include "algorithms/peers.h"

namespace fanlight::barrier_algorithms {

Schedule one_to_all(const Problem& problem) {
    Builder b(problem);
    if (problem.size > 1) b.offer_to_all_others(input(), 0);
    for (int peer : others(problem)) b.get(peer, 0, input(), output(), 0);
    return b.finish();
}

}  // namespace fanlight::barrier_algorithms

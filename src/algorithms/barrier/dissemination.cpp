// Round k: signal rank r + 2^k, wait for rank r - 2^k.  After it, rank r knows (at second
// hand) of the 2^(k+1) ranks up to itself.
//
//     0 -> 1 -> 2 -> 3 -> 4 -> 0      then 0 -> 2 -> 4 -> 1 -> 3 -> 0, then distance 4
//
// With Parameters::degree k to the k - 1 ranks at distance k^i, 2 k^i ... in round i.
//
// Cost: ceil(log2 P) a, for any P; of degree k (k - 1) a in each of ceil(log_k P) rounds.
// Source: Intra-Cell 3.2 (DIS); Hensgen, Finkel, Manber 1988; Hoefler et al. 2006 (n-way).  Any number of ranks.
#include "algorithms/circulant.h"

namespace fanlight::barrier_algorithms {

Schedule dissemination(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    for (const int power : powers(problem)) {
        for (const int distance : multiples(problem, power)) {
            b.put((rank + distance) % size, input(), output(), 0);
            b.arrive((rank - distance + size) % size, output(), 0);
        }
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::barrier_algorithms

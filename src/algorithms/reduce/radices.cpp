// As allreduce/radices.cpp, but on the way back the parts go only through the root's domains, to the root.
//
// Cost: over stages of m ranks: of puts 2 a, of many ranks 2 (m - 1) a;  2 n (P - 1) / P b + n (P - 1) / P g at the root.
// Source: Jocksch et al. 2026 (hardware radices).  Any number of ranks and domains of any sizes; any operator.
#include "algorithms/shares.h"

namespace fanlight::reduce_algorithms {

Schedule radices(const Problem& problem) {
    Shares shares(problem);
    shares.reduce_up();
    shares.gather_down();
    return shares.finish();
}

}  // namespace fanlight::reduce_algorithms

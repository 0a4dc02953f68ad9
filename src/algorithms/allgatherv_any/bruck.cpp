// Step k: the 2^k blocks r, r + 1, ... that rank r has go to rank r - 2^k: allgather/bruck.cpp,
// where a message says how long each of its blocks is.
//
// Cost: ceil(log2 P) a + N b, N the sum of all lengths.
// Source: Spike exchange 7; Bruck et al. 1997.  Any number of ranks.
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_any_algorithms {

Schedule bruck(const Problem& problem) { return allgather_algorithms::bruck(problem); }

}  // namespace fanlight::allgatherv_any_algorithms

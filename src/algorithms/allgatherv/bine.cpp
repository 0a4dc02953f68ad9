// allgather/bine.cpp, with blocks of any lengths.
//
// Cost: log2 P a + n b + N c, n the length of all blocks but the own one, N of all.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_algorithms {

Schedule bine(const Problem& problem) { return allgather_algorithms::bine(problem); }

}  // namespace fanlight::allgatherv_algorithms

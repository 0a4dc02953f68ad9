// allgather/circulant.cpp, with blocks of any lengths.
//
// Cost: (M - 1 + ceil(log2 P)) a + n b for M parts of each block, n the length of all blocks but the own one.
// Source: Träff, arXiv 2407.18004.
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_algorithms {

Schedule circulant(const Problem& problem) { return allgather_algorithms::circulant(problem); }

}  // namespace fanlight::allgatherv_algorithms

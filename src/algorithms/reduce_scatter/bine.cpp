// reduce_scatter_block/bine.cpp, with blocks of any lengths.
//
// Cost: log2 P a + n (b + g) + N c, n the length of all blocks but the own one, N of all.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).
#include "algorithms/declarations.h"

namespace fanlight::reduce_scatter_algorithms {

Schedule bine(const Problem& problem) { return reduce_scatter_block_algorithms::bine(problem); }

}  // namespace fanlight::reduce_scatter_algorithms

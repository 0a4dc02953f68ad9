// reduce_scatter_block/circulant.cpp, with blocks of any lengths.
//
// Cost: ceil(log2 P) a + n (b + g), n the length of all blocks but the own one.
// Source: Träff 2024 (arXiv 2410.14234; 10.34726/10760).
#include "algorithms/declarations.h"

namespace fanlight::reduce_scatter_algorithms {

Schedule circulant(const Problem& problem) { return reduce_scatter_block_algorithms::circulant(problem); }

}  // namespace fanlight::reduce_scatter_algorithms

// Partners exchange and combine half of what is left:
// reduce_scatter_block/recursive_halving.cpp with blocks of any lengths.
//
// Cost: log2 P a + N (P - 1) / P (b + g), N the length of all blocks together.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4.  A power of two of ranks; operators that commute.
#include "algorithms/declarations.h"

namespace fanlight::reduce_scatter_algorithms {

Schedule recursive_halving(const Problem& problem) {
    return reduce_scatter_block_algorithms::recursive_halving(problem);
}

}  // namespace fanlight::reduce_scatter_algorithms

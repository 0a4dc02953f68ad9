// Rank r reads and combines block r of everybody's: reduce_scatter_block/all_read_all.cpp with
// blocks of any lengths.
//
// Cost: a + (P - 1) (n b + n g), n the length of the longest block.
// Source: Intra-Cell 3.4 (AG), the first half.  Any number of ranks and any operator.
#include "algorithms/declarations.h"

namespace fanlight::reduce_scatter_algorithms {

Schedule all_read_all(const Problem& problem) {
    return reduce_scatter_block_algorithms::all_read_all(problem);
}

}  // namespace fanlight::reduce_scatter_algorithms

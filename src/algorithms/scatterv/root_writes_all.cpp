// The root puts everybody's block: scatter/root_writes_all.cpp with blocks of any lengths.
//
// Nothing can be read: a rank knows its block's length, but not where the block lies at the root.
//
// Cost: a + (sum of the other blocks' lengths) b in one round, all at the root.
// Source: RMA trees II (linear); Intra-Cell 3.3 (G).  Any number of ranks.
#include "algorithms/declarations.h"

namespace fanlight::scatterv_algorithms {

Schedule root_writes_all(const Problem& problem) {
    return scatter_algorithms::root_writes_all(problem);
}

}  // namespace fanlight::scatterv_algorithms

// Through the levels of the topology: reduce_scatter_block/by_levels.cpp with blocks of any lengths.
//
// Cost: as there.
// Source: Pruned ring I (multi-core aware collectives).
#include "algorithms/declarations.h"

namespace fanlight::reduce_scatter_algorithms {

Schedule by_levels(const Problem& problem) { return reduce_scatter_block_algorithms::by_levels(problem); }

}  // namespace fanlight::reduce_scatter_algorithms

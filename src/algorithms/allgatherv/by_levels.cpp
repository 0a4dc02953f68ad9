// Through the levels of the topology: allgather/by_levels.cpp with blocks of any lengths.
//
// Cost: as there.
// Source: Pruned ring I (multi-core aware collectives).
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_algorithms {

Schedule by_levels(const Problem& problem) { return allgather_algorithms::by_levels(problem); }

}  // namespace fanlight::allgatherv_algorithms

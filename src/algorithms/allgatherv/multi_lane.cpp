// Across the outermost domains, then inside them: allgather/multi_lane.cpp with blocks of any lengths.
//
// Cost: as there.
// Source: Träff, Hunold 2020 (multi-lane).
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_algorithms {

Schedule multi_lane(const Problem& problem) { return allgather_algorithms::multi_lane(problem); }

}  // namespace fanlight::allgatherv_algorithms

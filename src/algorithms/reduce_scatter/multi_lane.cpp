// Inside the domains, then between them: reduce_scatter_block/multi_lane.cpp with blocks of any lengths.
//
// Cost: as there.
// Source: Träff, Hunold 2020 (multi-lane).
#include "algorithms/declarations.h"

namespace fanlight::reduce_scatter_algorithms {

Schedule multi_lane(const Problem& problem) { return reduce_scatter_block_algorithms::multi_lane(problem); }

}  // namespace fanlight::reduce_scatter_algorithms

// Blocks go from the root to one rank of each outermost domain of the topology, and down through its levels.  What a rank
// will scatter travels together.
//
// Cost: in each level a + (m - 1) n b, m the parts of its domains and n the length of what each gets.
// Source: Pruned ring I (multi-core aware collectives); RMA trees II (linear), in each level.  Any topology: if a domain's
// ranks are not consecutive, or blocks do not touch (those of a piece), the root packs them; long ones leave it one by one.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::scatter_algorithms {

Schedule by_levels(const Problem& problem) {
    LevelsOfBlocks levels(problem);
    const Address all = levels.at_their_places() ? input() : levels.pack(problem.rank == problem.root);
    levels.scatter_down(levels.stages().size(), levels.held(output(), all));
    return levels.finish();
}

}  // namespace fanlight::scatter_algorithms

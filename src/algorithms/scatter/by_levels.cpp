// Blocks go from the root to one rank of each outermost domain of the topology, and down through its
// levels; what a rank will scatter travels together.
//
// Cost: in each level a + (m - 1) n b, m the parts of its domains and n the length of what each gets.
// Source: Pruned ring I (multi-core aware collectives); RMA trees II (linear), in each level.  Where a
// domain's ranks do not follow each other, or blocks do not touch (those of a piece), it is as of one
// domain.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::scatter_algorithms {

Schedule by_levels(const Problem& problem) {
    LevelsOfBlocks levels(problem);
    levels.scatter_down(levels.stages().size(), levels.held(output(), input()));
    return levels.finish();
}

}  // namespace fanlight::scatter_algorithms

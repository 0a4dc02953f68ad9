// Blocks go up through the levels of the topology to one rank of each outermost domain, and from these
// to the root; what a rank has gathered travels together.
//
// Cost: in each level a + (m - 1) n b, m the parts of its domains and n the length of what each has.
// Source: Pruned ring I (multi-core aware collectives); RMA trees II (linear), in each level.  Where a
// domain's ranks do not follow each other, or blocks do not touch (those of a piece), it is as of one
// domain.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::gather_algorithms {

Schedule by_levels(const Problem& problem) {
    LevelsOfBlocks levels(problem);
    levels.gather_up(levels.stages().size(), levels.held(input(), output()));
    return levels.finish();
}

}  // namespace fanlight::gather_algorithms

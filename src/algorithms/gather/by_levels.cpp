// Blocks go up through the levels of the topology to one rank of each outermost domain, and from these to the root.  A rank
// sends what it has gathered together.
//
// Cost: in each level a + (m - 1) n b, m the parts of its domains and n the length of what each has.
// Source: Pruned ring I (multi-core aware collectives); RMA trees II (linear), in each level.  Any topology: if a domain's
// ranks are not consecutive, or blocks do not touch (those of a piece), the root unpacks them; long ones go to it one by
// one.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::gather_algorithms {

Schedule by_levels(const Problem& problem) {
    LevelsOfBlocks levels(problem);
    const Address all = levels.at_their_places() ? output() : levels.room_to_unpack();
    levels.gather_up(levels.stages().size(), levels.held(input(), all));
    if (!levels.at_their_places()) levels.unpack(all, problem.rank == problem.root);
    return levels.finish();
}

}  // namespace fanlight::gather_algorithms

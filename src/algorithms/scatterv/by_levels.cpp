// Through the levels of the topology: scatter/by_levels.cpp with blocks of any lengths.  Blocks of Parameters::minimum bytes
// or more (by default of more than 4 KiB) go straight from the root.
//
// Cost: as there; before that the lengths go down to all ranks that represent others, 8 bytes for each of these.
// Source: Pruned ring I (multi-core aware collectives).  Any topology; a rank needs the lengths of those that it represents.
#include "algorithms/declarations.h"
#include "algorithms/lengths.h"
#include "algorithms/levels.h"

namespace fanlight::scatterv_algorithms {

Schedule by_levels(const Problem& problem) {
    const bool is_root = problem.rank == problem.root;
    const ByLength blocks(problem);
    LevelsOfBlocks levels(blocks.short_blocks);
    const Address all = is_root ? levels.pack() : Address{};
    levels.scatter_down(levels.stages().size(), levels.held(output(), all));
    blocks.move_straight(levels, root_writes_all);
    return levels.finish();
}

}  // namespace fanlight::scatterv_algorithms

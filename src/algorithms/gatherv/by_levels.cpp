// Through the levels of the topology: gather/by_levels.cpp with blocks of any lengths.  Blocks of Parameters::minimum bytes
// or more (by default of more than 4 KiB) go straight to the root.
//
// Cost: as there; before that the lengths go up to one rank of each outermost domain, 8 bytes for each rank.
// Source: Pruned ring I (multi-core aware collectives).  Any topology; a rank needs the lengths of those that it represents.
#include "algorithms/declarations.h"
#include "algorithms/lengths.h"
#include "algorithms/levels.h"

namespace fanlight::gatherv_algorithms {

Schedule by_levels(const Problem& problem) {
    const bool is_root = problem.rank == problem.root;
    const ByLength blocks(problem);
    LevelsOfBlocks levels(blocks.short_blocks);
    const Address all = is_root ? levels.room_to_unpack() : Address{};
    levels.gather_up(levels.stages().size(), levels.held(input(), all));
    levels.unpack(all, is_root);
    blocks.move_straight(levels, all_write_root);
    return levels.finish();
}

}  // namespace fanlight::gatherv_algorithms

// Blocks go up through the levels of the topology to one rank of each outermost domain.  These ranks gather the blocks of
// all, and the result comes down again in one piece.
//
// Cost: of each level that of a gather and of a bcast of all blocks there; between the n outermost domains
// ceil(log2 n) a + N b, long ones (n - 1) a + N b, N the length of all blocks.
// Source: Pruned ring I (multi-core aware collectives); Intra-Cell 4.  Blocks of any lengths (allgatherv uses it as it is).
// Any topology: if a domain's ranks are not consecutive, or blocks do not touch (those of a piece), the blocks travel
// packed, and each rank unpacks them.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::allgather_algorithms {

Schedule by_levels(const Problem& problem) {
    LevelsOfBlocks levels(problem);
    const Address all = levels.room_to_unpack();
    const auto at = [&](std::size_t stage, int rank) { return stage == 0 ? input() : all + levels.offset(stage, rank); };
    levels.gather_up(levels.last(), at);
    const auto algorithm = levels.total() <= longest_in_few_steps ? allgatherv_algorithms::bruck : ring;
    levels.between(algorithm, Operation::allgatherv, [&](int rank) { return Levels::Buffers{at(levels.last(), rank), all}; });
    levels.bcast_down(levels.total(), Levels::everywhere(all, all));
    levels.unpack(all);
    return levels.finish();
}

}  // namespace fanlight::allgather_algorithms

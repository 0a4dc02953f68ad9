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
    Composer c(problem);
    const auto through = stages(problem);
    const BlocksThroughLevels blocks(problem, through);
    const Address kept = c.reserve(through.size() > 1 ? blocks.most(problem.root) : 0);
    const auto at = [&](std::size_t stage, int rank) {
        if (stage == 0) return output();
        if (rank == problem.root) return input(blocks.of_stage[stage][static_cast<std::size_t>(rank)].offset);
        return kept + blocks.offset(stage, rank);
    };
    blocks.scatter(c, through, through.size(), at);
    return c.finish();
}

}  // namespace fanlight::scatter_algorithms

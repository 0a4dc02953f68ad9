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
    Composer c(problem);
    const auto through = stages(problem);
    const BlocksThroughLevels blocks(problem, through);
    const Address gathered = c.reserve(through.size() > 1 ? blocks.most(problem.root) : 0);
    const auto at = [&](std::size_t stage, int rank) {
        if (stage == 0) return input();
        if (rank == problem.root) return output(blocks.of_stage[stage][static_cast<std::size_t>(rank)].offset);
        return gathered + blocks.offset(stage, rank);
    };
    blocks.gather(c, through, through.size(), at);
    return c.finish();
}

}  // namespace fanlight::gather_algorithms

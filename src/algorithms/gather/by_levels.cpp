// Blocks go up through the levels of the topology to one rank of each outermost domain, and from these
// to the root; what a rank has gathered travels together.
//
// Cost: in each level a + (m - 1) n b, m the parts of its domains and n the length of what each has.
// Source: Pruned ring I (multi-core aware collectives); RMA trees II (linear), in each level.  As of one
// domain where the ranks of a domain, or blocks, do not follow each other, as those of a piece do.
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
    for (std::size_t s = 0; s < through.size(); ++s)
        c.add(all_write_root, [&](const Composer::Group& g) { return blocks.part(Operation::gather, s, g); }, through[s],
              [&](int rank) { return Composer::Buffers{at(s, rank), at(s + 1, rank)}; });
    return c.finish();
}

}  // namespace fanlight::gather_algorithms

// Blocks go up through the levels of the topology to one rank of each outermost domain, are gathered
// between these to all of them, and come down again, all together.
//
// Cost: of each level that of a gather and of a bcast of all blocks there; between the n outermost
// domains ceil(log2 n) a + N b, long ones (n - 1) a + N b, N the length of all blocks.
// Source: Pruned ring I (multi-core aware collectives); Intra-Cell 4.  Blocks of any lengths (allgatherv
// uses it as it is).  Where a domain's ranks do not follow each other, or blocks do not
// touch (those of a piece), it is as of one domain.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::allgather_algorithms {

Schedule by_levels(const Problem& problem) {
    Composer c(problem);
    const auto through = stages(problem);
    const BlocksThroughLevels blocks(problem, through);
    const std::size_t last = through.size() - 1;
    const auto at = [&](std::size_t stage, int rank) {
        return stage == 0 ? input() : output(blocks.of_stage[stage][static_cast<std::size_t>(rank)].offset);
    };
    blocks.gather(c, through, last, at);

    Problem all = part_of(problem, Operation::bcast);
    all.bytes = blocks.total();
    const Address whole = output(problem.block(0).offset);
    c.add(all.bytes <= longest_in_few_steps ? allgatherv_algorithms::bruck : ring,
          [&](const Composer::Group& g) { return blocks.part(Operation::allgatherv, last, g); }, through.back(),
          [&](int rank) { return Composer::Buffers{at(last, rank), whole}; });
    for (std::size_t s = last; s-- > 0;)
        c.add(bcast_algorithms::one_to_all, all, through[s], [&](int) { return Composer::Buffers{whole, whole}; });
    return c.finish();
}

}  // namespace fanlight::allgather_algorithms

// Reduces whole vectors through the levels of the topology to one rank of each outermost domain, reduces
// between these so that each has the blocks of its domain, and scatters them down through the levels.
//
// Cost: of each level that of a reduce of all blocks and of a scatter there; between the n outermost
// domains a + N (b + g), long ones (n - 1) a + N (b + g), N the length of all blocks.
// Source: Pruned ring I (multi-core aware collectives); Intra-Cell 3.4.  Any operator.  Where a domain's
// ranks do not follow each other, or blocks do not touch (those of a piece), it is as of one domain.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule by_levels(const Problem& problem) {
    Composer c(problem);
    const auto through = stages(problem);
    const BlocksThroughLevels blocks(problem, through);
    const std::size_t last = through.size() - 1;
    Problem all = part_of(problem, Operation::reduce);
    all.bytes = blocks.total();
    const Address sum = reduce_up(c, all, through).back();
    const Address kept = c.reserve(last > 0 ? blocks.most() : 0);
    const auto at = [&](std::size_t stage, int rank) { return stage == 0 ? output() : kept + blocks.offset(stage, rank); };
    c.add(problem.commutative && all.bytes > longest_in_few_steps ? pairwise : all_read_all,
          [&](const Composer::Group& g) {
              Problem part = blocks.part(Operation::reduce_scatter, last, g);
              part.element = problem.element;
              part.commutative = problem.commutative;
              return part;
          },
          through.back(), [&](int rank) { return Composer::Buffers{sum + problem.block(0).offset, at(last, rank)}; });
    blocks.scatter(c, through, last, at);
    return c.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

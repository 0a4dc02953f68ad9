// Reduces whole vectors through the levels of the topology to one rank of each outermost domain, reduces between these so
// that each has the blocks of its domain, and scatters them down through the levels.
//
// Cost: of each level that of a reduce of all blocks and of a scatter there; between the n outermost domains a + N (b + g),
// long ones (n - 1) a + N (b + g), N the length of all blocks.
// Source: Pruned ring I (multi-core aware collectives); Intra-Cell 3.4.  Any operator, blocks of any
// lengths (reduce_scatter uses it as it is).  If a domain's ranks are not consecutive, or blocks do not touch (those of a
// piece), each rank packs its blocks first; if the operator does not commute either, all ranks count as one domain.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule by_levels(const Problem& problem) {
    LevelsOfBlocks levels(problem);
    const std::size_t bytes = levels.total();
    const Address sum = levels.reduce_up(bytes, levels.pack()).back();
    const auto at = levels.held(output(), {});
    levels.between(problem.commutative && bytes > longest_in_few_steps ? pairwise : all_read_all, Operation::reduce_scatter,
                   [&](int rank) { return Levels::Buffers{sum, at(levels.last(), rank)}; });
    levels.scatter_down(levels.last(), at);
    return levels.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

// Reduces through the levels of the topology to one rank of each outermost domain, reduces between
// these to all of them, and broadcasts through the levels.
//
// Cost: of each level that of a reduce and of a bcast there; between the n outermost domains
// ceil(log2 n) (a + n b + n g), long vectors 2 log2 n a + 2 n b.
// Source: Pruned ring I (multi-core aware collectives).  Any topology and operator; where that does
// not commute and domains' ranks do not follow each other it is as of one domain.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::allreduce_algorithms {

Schedule by_levels(const Problem& problem) {
    Composer c(problem);
    const auto through = stages(problem);
    const Address sum = reduce_up(c, part_of(problem, Operation::reduce), through).back();
    const auto between = problem.bytes <= longest_in_few_steps ? recursive_doubling : halving_doubling;
    c.add(between, part_of(problem, Operation::allreduce), through.back(), [&](int) { return Composer::Buffers{sum, output()}; });
    bcast_down(c, problem, through);
    return c.finish();
}

}  // namespace fanlight::allreduce_algorithms

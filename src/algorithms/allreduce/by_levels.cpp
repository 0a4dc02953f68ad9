// Reduces through the levels of the topology to one rank of each outermost domain, reduces among these to all of them, and
// broadcasts through the levels.
//
// Cost: of each level that of a reduce and of a bcast there; between the n outermost domains ceil(log2 n) (a + n b + n g),
// long vectors 2 log2 n a + 2 n b.
// If a rule names allreduces for the levels, everybody takes part on each level, from the innermost on with the ranks of
// its place in the other domains: no way back, but messages of each rank between the domains.
// Source: Pruned ring I (multi-core aware collectives).  Any topology and operator; if the operator does not commute and
// domains' ranks are not consecutive, all ranks count as one domain.
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"

namespace fanlight::allreduce_algorithms {

Schedule by_levels(const Problem& problem) {
    if (everybody_meets(problem)) return Lanes(problem).on_every_level(recursive_doubling);
    Levels levels(problem);
    const Address sum = levels.reduce_up(problem.bytes).back();
    const auto algorithm = problem.bytes <= longest_in_few_steps ? recursive_doubling : halving_doubling;
    levels.between(algorithm, Operation::allreduce, problem.bytes, Levels::everywhere(sum, output()));
    levels.bcast_down(problem.bytes, Levels::everywhere(output(), output()));
    return levels.finish();
}

}  // namespace fanlight::allreduce_algorithms

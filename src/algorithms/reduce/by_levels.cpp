// Reduces through the levels of the topology to one rank of each outermost domain, and from these to the root.
//
// Cost: of each level that of a reduce there; between the n outermost domains ceil(log2 n) (a + n b + n g).
// Source: Pruned ring I (multi-core aware collectives).  Any topology and operator; if the operator does not commute and
// domains' ranks are not consecutive, all ranks count as one domain.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::reduce_algorithms {

Schedule by_levels(const Problem& problem) {
    Levels levels(problem);
    const Address sum = levels.reduce_up(problem.bytes).back();
    levels.between(binomial, Operation::reduce, problem.bytes, Levels::everywhere(sum, output()));
    return levels.finish();
}

}  // namespace fanlight::reduce_algorithms

// The vector goes down a binomial tree between the outermost domains of the topology, and then
// through the levels: in each domain everybody reads it from one rank.
//
// Cost: ceil(log2 n) (a + n b) between the n outermost domains; inside each level a + n b, its own.
// Source: Pruned ring I (multi-core aware collectives); Intra-Cell 3.3 (OTA).  Any topology.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::bcast_algorithms {

Schedule by_levels(const Problem& problem) {
    Composer c(problem);
    const auto through = stages(problem);
    c.add(binomial, part_of(problem, Operation::bcast), through.back(),
          [&](int rank) { return going_down(problem, rank); });
    bcast_down(c, problem, through);
    return c.finish();
}

}  // namespace fanlight::bcast_algorithms

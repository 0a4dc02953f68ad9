// The vector goes down a binomial tree between the outermost domains of the topology, and then through the levels: in each
// domain everybody reads it from one rank.  The root's domain does so while the vector is on its way to the others.
//
// Cost: ceil(log2 n) (a + n b) between the n outermost domains; inside each level a + n b, its own.
// Source: Pruned ring I (multi-core aware collectives); Intra-Cell 3.3 (OTA).  Any topology.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::bcast_algorithms {

Schedule by_levels(const Problem& problem) {
    Levels levels(problem);
    levels.overlap({[&] { levels.between(binomial, Operation::bcast, problem.bytes, levels.from_root()); },
                    [&] { levels.bcast_down(problem.bytes, levels.from_root(), Levels::Where::at_root); }});
    levels.bcast_down(problem.bytes, levels.from_root(), Levels::Where::elsewhere);
    return levels.finish();
}

}  // namespace fanlight::bcast_algorithms

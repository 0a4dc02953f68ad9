// Signals go up through the levels of the topology, are exchanged between its outermost domains, and come down again.
//
// Cost: 2 a inside each level, its own a; ceil(log2 n) a between the n outermost domains.
// If a rule names barriers for the levels, everybody takes part on each level, as in allreduce's.
// Source: Intra-Cell 3.2 (TREE), its tree the machine's.  Any topology; with one domain it is dissemination.
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"

namespace fanlight::barrier_algorithms {

Schedule by_levels(const Problem& problem) {
    if (everybody_meets(problem)) return Lanes(problem).on_every_level(dissemination);
    Levels levels(problem);
    const Address up = levels.reduce_up(0).back();
    levels.between(dissemination, Operation::barrier, 0, Levels::everywhere(up, output()));
    levels.bcast_down(0, Levels::everywhere(output(), output()));
    return levels.finish();
}

}  // namespace fanlight::barrier_algorithms

// Signals go up through the levels of the topology, are exchanged between its outermost domains, and
// come down again.
//
// Cost: 2 a inside each level, its own a; ceil(log2 n) a between the n outermost domains.
// Source: Intra-Cell 3.2 (TREE), its tree the machine's.  Any topology; of one domain: dissemination.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::barrier_algorithms {

Schedule by_levels(const Problem& problem) {
    Levels levels(problem);
    const Address up = levels.reduce_up(0).back();
    levels.between(dissemination, Operation::barrier, 0, Levels::everywhere(up, output()));
    levels.bcast_down(0, Levels::everywhere(output(), output()));
    return levels.finish();
}

}  // namespace fanlight::barrier_algorithms

// Signals go up through the levels of the topology, are exchanged between its outermost domains, and
// come down again.
//
// Cost: 2 a inside each level, its own a; ceil(log2 n) a between the n outermost domains.
// Source: Intra-Cell 3.2 (TREE), its tree the machine's.  Any topology; of one domain: dissemination.
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::barrier_algorithms {

Schedule by_levels(const Problem& problem) {
    Composer c(problem);
    const auto through = stages(problem);
    const Address up = reduce_up(c, part_of(problem, Operation::reduce), through).back();
    c.add(dissemination, part_of(problem, Operation::barrier), through.back(), [&](int) { return Composer::Buffers{up, output()}; });
    bcast_down(c, problem, through);
    return c.finish();
}

}  // namespace fanlight::barrier_algorithms

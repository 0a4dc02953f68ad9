// The root offers its blocks, everybody reads its own.
//
// Cost: a + n b (1 + contention): P - 1 readers of different places of one memory.
// Source: Intra-Cell 3.3 (OTA).  Any number of ranks.  (Not for scatterv: there a rank does
// not know where at the root its block lies.)
#include "algorithms/blocks.h"

namespace fanlight::scatter_algorithms {

Schedule all_read_root(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    if (problem.rank == problem.root) {
        offer_blocks(b, problem);
        b.copy(input(own.offset), output(), own.bytes);
    } else {
        b.get(problem.root, offer_of_block(problem, problem.root, problem.rank), offered_block(problem, problem.rank), output(), own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::scatter_algorithms

// Everybody offers all its blocks; rank r reads block r of everybody's and combines them in
// rank order.
//
// Cost: a + (P - 1) (n b + n g), n the length of a block.
// Source: Intra-Cell 3.4 (AG), the first half.  Any number of ranks and any operator, blocks of any lengths
// (reduce_scatter uses it as it is).
#include "algorithms/blocks.h"
#include "algorithms/peers.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule all_read_all(const Problem& problem) {
    Builder b(problem);
    const Block own = problem.block(problem.rank);
    offer_blocks(b, problem);
    combine_in_rank_order(b, problem,
                          {problem.size, input(own.offset), offered_block(problem, problem.rank),
                           [&](int peer) { return offer_of_block(problem, peer, problem.rank); }, own.bytes},
                          output());
    return b.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

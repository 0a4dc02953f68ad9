// Everybody offers all its blocks; rank r reads block r of everybody's and combines them around the ring: r, r - 1,
// r - 2, ...  This is pairwise.cpp's bracketing, so it gives the same bits.
//
// Cost: a + (P - 1) (n b + n g), n the length of a block; no two ranks begin with the same peer.
// Source: Intra-Cell 3.4 (AG), the first half, in the order of Thakur, Rabenseifner, Gropp 2005, 4.4.  Any number of ranks;
// operators that commute, because the order of each block starts at another rank.
#include "algorithms/blocks.h"
#include "algorithms/reduction.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule all_read_around(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    offer_blocks(b, problem);
    reduce_around(b, problem, [&](int i, Order order) {
        const int peer = (rank - i + problem.size) % problem.size;
        b.get(peer, offer_of_block(problem, peer, rank), offered_block(problem, rank), output(), problem.block(rank).bytes, order);
    });
    return b.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

// The vector is cut into P parts.  Rank i reads part i of everybody's vector and combines it
// in rank order; the root reads the P results.
//
// Cost: 2 a + 2 n (P - 1) / P b + n (P - 1) / P g: the combining is spread over all ranks.
// Source: Intra-Cell 3.4 (AG); Rabenseifner 2004, with reads in place of halving.  Any number
// of ranks and any operator; for long vectors.
#include "algorithms/blocks.h"
#include "algorithms/peers.h"

namespace fanlight::reduce_algorithms {

Schedule reduce_scatter_gather(const Problem& problem) {
    Builder b(problem);
    const bool root = problem.rank == problem.root;
    const Block own = part(problem, problem.rank);
    // The first reservation, so at the same place on all ranks that the root reads.
    const Address sum = b.reserve(root ? 0 : own.bytes);

    const int results = offer_parts(b, problem);
    combine_in_rank_order(b, problem,
                          {problem.size, input(own.offset), input(own.offset),
                           [&](int peer) { return offer_of_block(problem, peer, problem.rank); }, own.bytes},
                          root ? output(own.offset) : sum);

    if (root) {
        for (int peer : others(problem)) {
            const Block theirs = part(problem, peer);
            b.get(peer, results, sum, output(theirs.offset), theirs.bytes);
        }
    } else {
        b.offer_to(problem.root, sum, own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::reduce_algorithms

// The vector is cut into P parts.  Rank i reads part i of everybody's vector and combines it
// in rank order; then everybody reads everybody's part of the result.
//
// Cost: 2 a + 2 n (P - 1) / P b + n (P - 1) / P g.
// Source: Intra-Cell 3.4 (AG) and its mirror image; Rabenseifner 2004, with reads in place of
// halving and doubling.  Any number of ranks and any operator; for long vectors.
#include "algorithms/blocks.h"
#include "algorithms/peers.h"

namespace fanlight::allreduce_algorithms {

Schedule reduce_scatter_allgather(const Problem& problem) {
    Builder b(problem);
    const Block own = part(problem, problem.rank);
    const int results = offer_parts(b, problem);
    combine_in_rank_order(b, problem,
                          {problem.size, input(own.offset), input(own.offset),
                           [&](int peer) { return offer_of_block(problem, peer, problem.rank); }, own.bytes},
                          output(own.offset));

    if (problem.size > 1) b.offer_to_all_others(output(own.offset), own.bytes);
    for (int peer : others(problem)) {
        const Block theirs = part(problem, peer);
        b.get(peer, results, output(theirs.offset), output(theirs.offset), theirs.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

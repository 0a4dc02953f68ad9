// The root puts everybody's block; what is long goes piece by piece.
//
// Reading is no choice here: a rank knows its block's length, but not where the block lies at
// the root.
//
// Cost: a + (sum of the other blocks' lengths) b in one round, or one for each piece, all at the root.
// Source: RMA trees II (linear); Intra-Cell 3.3 (G).  Any number of ranks.
#include <vector>

#include "algorithms/peers.h"
#include "algorithms/pieces.h"

namespace fanlight::scatterv_algorithms {

Schedule root_writes_all(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank, root = problem.root;
    const Block own = problem.block(rank);
    std::vector<PutEdge> edges;
    if (rank == root) {
        b.copy(input(own.offset), output(), own.bytes);
        for (int peer : others(problem)) {
            const Block out = problem.block(peer);
            edges.push_back({{.from = root, .to = peer, .bytes = out.bytes, .sent = out.offset}});
        }
    } else {
        edges.push_back({{.from = root, .to = rank, .bytes = own.bytes}});
    }
    put_in_pieces(b, problem, edges);
    return b.finish();
}

}  // namespace fanlight::scatterv_algorithms

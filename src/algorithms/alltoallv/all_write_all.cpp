// Everybody puts its blocks to everybody, all at the same time, beginning at its neighbour's.
//
// A rank knows what it sends and what it receives, but neither where in its peers' outputs its
// blocks go nor where in their inputs they lie: so nothing can be read, and of a put the target
// alone knows the place.
//
// Cost: a + (sum of the other blocks' lengths) b in one round, or one for each piece.
// Source: Intra-Cell 4 (vector forms); 3.3 (G), from all ranks.  Any number of ranks.
#include <vector>

#include "algorithms/peers.h"
#include "algorithms/pieces.h"

namespace fanlight::alltoallv_algorithms {

Schedule all_write_all(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const Block own = problem.send(rank);
    b.copy(input(own.offset), output(problem.block(rank).offset), own.bytes);
    std::vector<PutEdge> edges;
    for (int peer : others(problem)) {
        const Block out = problem.send(peer), in = problem.block(peer);
        edges.push_back({{.from = rank, .to = peer, .bytes = out.bytes, .sent = out.offset}});
        edges.push_back({{.from = peer, .to = rank, .bytes = in.bytes, .taken = in.offset}});
    }
    put_in_pieces(b, problem, edges);
    return b.finish();
}

}  // namespace fanlight::alltoallv_algorithms

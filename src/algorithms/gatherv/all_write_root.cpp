// Everybody puts its block to the root, which alone knows where it goes; what is long goes piece by
// piece.
//
// Cost: a + n b in one round, or one for each piece, where the memory bears P - 1 writers, n the
// length of the longest block: the writers' cores move the blocks instead of the root's.
// Source: RMA trees II (linear), turned round.  Any number of ranks; a rank that is not the root
// needs its own length alone.
#include <vector>

#include "algorithms/peers.h"
#include "algorithms/pieces.h"

namespace fanlight::gatherv_algorithms {

Schedule all_write_root(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank, root = problem.root;
    const Block own = problem.block(rank);
    std::vector<PutEdge> edges;
    if (rank == root) {
        b.copy(input(), output(own.offset), own.bytes);
        for (int peer : others(problem)) {
            const Block in = problem.block(peer);
            edges.push_back({{.from = peer, .to = root, .bytes = in.bytes, .taken = in.offset}});
        }
    } else {
        edges.push_back({{.from = rank, .to = root, .bytes = own.bytes}});
    }
    put_in_pieces(b, problem, edges);
    return b.finish();
}

}  // namespace fanlight::gatherv_algorithms

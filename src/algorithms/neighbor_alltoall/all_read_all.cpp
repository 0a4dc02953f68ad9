// Everybody offers all its blocks, and reads its own from its neighbours: since all blocks have one
// length, a rank knows where in a neighbour's input its own begins.
//
// Cost: a + (sum of the lengths of the incoming edges) b in one round.
// Source: Intra-Cell 3.3 (OTA), along the edges of a graph.  Any graph.
#include "algorithms/neighbors.h"

namespace fanlight::neighbor_alltoall_algorithms {

Schedule all_read_all(const Problem& problem) {
    Builder b(problem);
    copy_own_edges(b, problem);
    read_edges(b, problem);
    put_edges(b, problem, edge_is_read);
    return b.finish();
}

}  // namespace fanlight::neighbor_alltoall_algorithms

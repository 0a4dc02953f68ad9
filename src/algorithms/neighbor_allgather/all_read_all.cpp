// Everybody offers its block once, and reads those of its neighbors.
//
// Cost: a + (sum of the lengths of the incoming edges) b in one round.  A block is staged at most once, however many
// neighbors read it.
// Source: Intra-Cell 3.3 (OTA), along the edges of a graph.  Any graph; neighbor_alltoall uses it as it is: all its blocks have one
// length, so a rank knows where in a neighbor's input its own begins.
#include "algorithms/neighbors.h"

namespace fanlight::neighbor_allgather_algorithms {

Schedule all_read_all(const Problem& problem) {
    Builder b(problem);
    copy_own_edges(b, problem);
    read_edges(b, problem);
    put_edges(b, problem, edge_is_read);
    return b.finish();
}

}  // namespace fanlight::neighbor_allgather_algorithms

// Everybody puts its block to all its neighbors, once to each: where several edges lead to one of them it copies the block.
//
// Cost: a + (sum of the lengths of the edges, of several between two ranks one) b in one round.
// Source: MPI standard, 8.6 (as defined).  Any graph, several edges between two ranks included;
// neighbor_alltoall(v) use it as it is.  Of neighbor_alltoallv's blocks only the target knows where one goes, and only the
// owner where it lies, so nothing can be read.
#include "algorithms/neighbors.h"

namespace fanlight::neighbor_allgather_algorithms {

Schedule all_write_all(const Problem& problem) {
    Builder b(problem);
    copy_own_edges(b, problem);
    put_edges(b, problem);
    return b.finish();
}

}  // namespace fanlight::neighbor_allgather_algorithms

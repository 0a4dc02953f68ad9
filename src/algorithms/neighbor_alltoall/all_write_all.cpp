// Everybody puts its blocks to its neighbors.
//
// Cost: a + (sum of the lengths of the edges) b in one round.
// Source: MPI standard, 8.6 (as defined).  Any graph, several edges between two ranks included.
#include "algorithms/declarations.h"

namespace fanlight::neighbor_alltoall_algorithms {

Schedule all_write_all(const Problem& problem) { return neighbor_allgather_algorithms::all_write_all(problem); }

}  // namespace fanlight::neighbor_alltoall_algorithms

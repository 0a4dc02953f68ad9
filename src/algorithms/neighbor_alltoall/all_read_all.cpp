// Everybody offers all its blocks, and reads its own from its neighbors.  All blocks have one length, so a rank knows where
// in a neighbor's input its own begins.
//
// Cost: a + (sum of the lengths of the incoming edges) b in one round.
// Source: Intra-Cell 3.3 (OTA), along the edges of a graph.  Any graph.
#include "algorithms/declarations.h"

namespace fanlight::neighbor_alltoall_algorithms {

Schedule all_read_all(const Problem& problem) { return neighbor_allgather_algorithms::all_read_all(problem); }

}  // namespace fanlight::neighbor_alltoall_algorithms

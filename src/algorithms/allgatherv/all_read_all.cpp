// Everybody reads everybody's block: allgather/all_read_all.cpp with blocks of any lengths.
//
// Cost: a + (sum of the other blocks' lengths) b in one round.
// Source: Intra-Cell 4 (vector forms), 3.3 (OTA).  Any number of ranks.
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_algorithms {

Schedule all_read_all(const Problem& problem) { return allgather_algorithms::all_read_all(problem); }

}  // namespace fanlight::allgatherv_algorithms

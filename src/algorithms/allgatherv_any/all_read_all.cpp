// Everybody offers its block, with its length in the flag, and reads all the others':
// allgather/all_read_all.cpp.  A rank that has nothing offers a flag.
//
// Cost: a + N b in one round, N the sum of the others' lengths.
// Source: Spike exchange 7; Intra-Cell 3.3 (OTA), from all ranks.  Any number of ranks.
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_any_algorithms {

Schedule all_read_all(const Problem& problem) { return allgather_algorithms::all_read_all(problem); }

}  // namespace fanlight::allgatherv_any_algorithms

// Step j: block r - j goes to rank r + 1: allgather/ring.cpp with blocks of any lengths.
//
// Cost: (P - 1) (a + n b), n the length of the longest block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.1.  Any number of ranks.
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_algorithms {

Schedule ring(const Problem& problem) { return allgather_algorithms::ring(problem); }

}  // namespace fanlight::allgatherv_algorithms

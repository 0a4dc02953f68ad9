// halving-doubling with Bine's partners, at distance 1, 1, 3, 5, 11 ... instead of 1, 2, 4, 8, 16 ...
//
// Cost: 2 log2 P a + 2 n (P - 1) / P b + n (P - 1) / P g; 2 (a + n b) + n g more if P is no power of two.  Up to a third
// less crosses shared links between nodes.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).  Any number of ranks; operators that commute.
#include "algorithms/butterfly.h"

namespace fanlight::allreduce_algorithms {

Schedule bine(const Problem& problem) { return halve_and_double(problem, true); }

}  // namespace fanlight::allreduce_algorithms

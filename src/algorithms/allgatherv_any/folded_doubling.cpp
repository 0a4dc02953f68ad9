// Partners at distance 1, 2, 4 ... exchange all the blocks that they have, of whatever lengths:
// allgather/folded_doubling.cpp, where a message says how long each of its blocks is.  What a rank
// passes on it has received, so that it knows the lengths of all that it sends.
//
// Cost: log2 P a + N b, N the sum of all lengths; 2 a + N b more for the folding.
// Source: Spike exchange, algorithms 1 and 2, with section 7's "only the updated spikes".  Any
// number of ranks.
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_any_algorithms {

Schedule folded_doubling(const Problem& problem) { return allgather_algorithms::folded_doubling(problem); }

}  // namespace fanlight::allgatherv_any_algorithms

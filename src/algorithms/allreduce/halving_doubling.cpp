// Partners at distance 1, 2, 4 ... halve what they are responsible for: each gives the half of its
// sums that the partner keeps and combines the half that it keeps itself.  Then the way back:
// partners at distance ... 4, 2, 1 exchange what they have complete.
//
//     4 ranks, parts 0123:  0 keeps 01, 1 keeps 23;  with 2 at distance 2: 0 keeps 0, 2 keeps 1
//
// Where P is no power of two, the first ranks are folded in pairs (fold.h).
//
// Cost: 2 log2 P a + 2 n (P - 1) / P b + n (P - 1) / P g; 2 (a + n b) + n g more for the folding.
// Source: Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, 4.5.  Any number of ranks, and,
// since the nearest partner comes first, any operator.  Long vectors.
#include "algorithms/butterfly.h"

namespace fanlight::allreduce_algorithms {

Schedule halving_doubling(const Problem& problem) { return halve_and_double(problem, false); }

}  // namespace fanlight::allreduce_algorithms

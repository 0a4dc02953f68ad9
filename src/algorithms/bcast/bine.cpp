// The vector goes down Bine's tree: as many steps as in a binomial one, to ranks that are about 2/3 as far.
//
//     8 ranks:  0 -> 3 (3 steps up), 0 -> 7 (1 down), 0 -> 1;  3 -> 4, 3 -> 2;  7 -> 6 ...
//
// Cost: ceil(log2 P) (a + n b).  Up to a third less crosses shared links between nodes.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).  Any number of ranks: if it is no power of two, the first, from
// the root on, are folded in pairs (fold.h).
#include "algorithms/butterfly.h"
#include "algorithms/reduction.h"

namespace fanlight::bcast_algorithms {

Schedule bine(const Problem& problem) { return put_down(problem, bine_tree(problem.rank, problem.size, problem.root)); }

}  // namespace fanlight::bcast_algorithms

// Results go up Bine's tree (bcast/bine.cpp) and are combined at each node.
//
// Cost: ceil(log2 P) (a + n b + n g).  Up to a third less crosses shared links between nodes.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).  Any number of ranks; operators that commute.
#include "algorithms/butterfly.h"
#include "algorithms/reduction.h"

namespace fanlight::reduce_algorithms {

Schedule bine(const Problem& problem) { return put_up(problem, bine_tree(problem.rank, problem.size, problem.root)); }

}  // namespace fanlight::reduce_algorithms

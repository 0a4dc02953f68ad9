// Blocks go up Bine's tree (butterfly.h).  Its subtrees are intervals of ranks too, which may wrap around after the last.
//
//     8 ranks:  [1] -> 0;  [67] 7 -> 0;  [2345] 3 -> 0, in it [2] -> 3, [45] 4 -> 3
//
// Cost: ceil(log2 P) a + n (P - 1) b, n the length of a block.  Up to a third less crosses shared links between nodes.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).  Any number of ranks: if it is no power of two, the first, from
// the root on, are folded in pairs (fold.h).
#include "algorithms/butterfly.h"
#include "algorithms/tree_blocks.h"

namespace fanlight::gather_algorithms {

Schedule bine(const Problem& problem) { return gather_up(problem, bine_tree(problem.rank, problem.size, problem.root)); }

}  // namespace fanlight::gather_algorithms

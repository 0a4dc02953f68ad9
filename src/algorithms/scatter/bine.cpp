// gather/bine.cpp in reverse: blocks go down Bine's tree, the largest subtree's first.
//
// Cost: ceil(log2 P) a + n (P - 1) b, n the length of a block.  Up to a third less crosses shared links between nodes.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).  Any number of ranks: if it is no power of two, the first, from
// the root on, are folded in pairs (fold.h).
#include "algorithms/butterfly.h"
#include "algorithms/tree_blocks.h"

namespace fanlight::scatter_algorithms {

Schedule bine(const Problem& problem) { return scatter_down(problem, bine_tree(problem.rank, problem.size, problem.root)); }

}  // namespace fanlight::scatter_algorithms

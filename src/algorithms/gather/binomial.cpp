// Blocks go up a binomial tree; a node packs its subtree's blocks in scratch, in rank order.
//
//     7 -> 6 => 4 ===> 0      subtrees are intervals of ranks for every root: see trees.h
//          5 ---^      |
//          3 -> 2 =====+
//               1 -----+
//
// Cost: ceil(log2 P) a + n (P - 1) b, n the length of a block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.2.  Any number of ranks,
// blocks of any lengths.
#include "algorithms/tree_blocks.h"

namespace fanlight::gather_algorithms {

Schedule binomial(const Problem& problem) { return gather_up(problem, tree_for(problem, problem.root, 2)); }

}  // namespace fanlight::gather_algorithms

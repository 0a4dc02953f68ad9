// Blocks go down a binomial tree, the largest subtree's first; a node keeps its subtree's
// blocks packed in scratch until they have gone on.
//
//     0 ==[4567]=> 4 =[67]=> 6 -[7]-> 7      subtrees are intervals of ranks for every root:
//     |            +---[5]-> 5               see trees.h
//     +===[23]===> 2 --[3]-> 3
//     +---[1]----> 1
//
// Cost: ceil(log2 P) a + n (P - 1) b, n the length of a block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.2; Pruned ring, figures 1 and 2.  Any number of
// ranks, blocks of any lengths.
#include "algorithms/tree_blocks.h"

namespace fanlight::scatter_algorithms {

Schedule binomial(const Problem& problem) { return scatter_down(problem, tree_for(problem, problem.root, 2)); }

}  // namespace fanlight::scatter_algorithms

// Rank r gives the farther half of the blocks that it has, counted from its own on, to the rank half of them further on,
// which combines them with its own.  So each step leaves half as many.
//
//     13 ranks:  blocks 7 to 12 after the own one to r + 7, 4 to 6 to r + 4, 2 and 3 to r + 2, the next one to r + 1
//
// With Parameters::degree k they go to k - 1 ranks, and a k-th is left.
//
// Cost: ceil(log2 P) a + (P - 1) n (b + g), n the length of a block; of degree k (k - 1) a in each of ceil(log_k P) steps.
// Source: Träff 2024 (arXiv 2410.14234; 10.34726/10760): the fewest rounds and bytes possible, for any number of ranks.
// Blocks of any lengths (reduce_scatter uses it as it is); operators that commute.
#include "algorithms/circulant.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule circulant(const Problem& problem) {
    Builder b(problem);
    reduce_circulant(b, problem, output());
    return b.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

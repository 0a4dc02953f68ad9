// The reduce_scatter of reduce_scatter_block/circulant.cpp on the vector's parts, then the way back to gather them.
//
// Cost: 2 ceil(log2 P) a + 2 n (P - 1) / P b + n (P - 1) / P g; of degree k (k - 1) a in each of 2 ceil(log_k P) steps.
// Source: Träff 2024 (arXiv 2410.14234; 10.34726/10760): as halving-doubling, but without folding if P is no power of two.
// Operators that commute; all ranks get the same bits, because each part is combined once.
#include "algorithms/blocks.h"
#include "algorithms/circulant.h"

namespace fanlight::allreduce_algorithms {

Schedule circulant(const Problem& problem) {
    Builder b(problem);
    reduce_circulant(b, problem, output(part(problem, problem.rank).offset));
    allgather_circulant(b, problem);
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

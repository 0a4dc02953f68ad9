// Everybody offers its vector; everybody reads and combines all of them, strictly from rank 0
// to rank P - 1, so that all ranks get the same bits.
//
// Cost: a + (P - 1) (n b + n g).  For short vectors inside a node: one latency, no rank waits
// for another's combining.
// Source: Intra-Cell 3.3 (OTA), done from all ranks.  Any number of ranks and any operator.
#include "algorithms/peers.h"

namespace fanlight::allreduce_algorithms {

Schedule all_read_all(const Problem& problem) {
    Builder b(problem);
    if (problem.size > 1) b.offer_to_all_others(input(), problem.bytes);
    combine_in_rank_order(b, problem, {problem.size, input(), input(), first_offer, problem.bytes},
                          output());
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

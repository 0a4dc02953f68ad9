// Everybody offers its vector; the root reads and combines them in rank order.
//
// Cost: a + (P - 1) (n b + n g), all at the root.  For short vectors inside a node: one
// latency, and the other ranks have nothing to do.
// Source: Intra-Cell 3.4, which leaves the form out for long vectors because the combining is
// not spread over the ranks.  Any number of ranks and any operator.
#include "algorithms/peers.h"

namespace fanlight::reduce_algorithms {

Schedule root_reads_all(const Problem& problem) {
    Builder b(problem);
    if (problem.rank == problem.root) {
        combine_in_rank_order(b, problem, {problem.size, input(), input(), first_offer, problem.bytes},
                              output());
    } else {
        b.offer_to(problem.root, input(), problem.bytes);
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::reduce_algorithms

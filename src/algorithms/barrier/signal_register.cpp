// Every rank sets its bit of one word at rank 0, which waits until all are set and signals everybody.
//
// Cost: 2 a; P - 1 atomic operations on one word, where tree and one_to_all have flags of a cache line each.
// Source: Intra-Cell 3.2 (SIG).  Any number of ranks.
#include "schedule/builder.h"

namespace fanlight::barrier_algorithms {

Schedule signal_register(const Problem& problem) {
    Builder b(problem);
    if (problem.rank > 0) {
        b.set_bit(0);
        b.get(0, 0, input(), output(), 0);
    } else if (problem.size > 1) {
        for (int r = 1; r < problem.size; ++r) b.await_bit(r);
        b.next_round();
        b.offer_to_all_others(input(), 0);
    }
    return b.finish();
}

}  // namespace fanlight::barrier_algorithms

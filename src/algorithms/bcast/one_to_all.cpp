// The root offers its vector, everybody reads it.
//
// Cost: a + n b (1 + contention), contention being what P - 1 readers of the same memory do
// to each other: little inside a node, P - 1 for readers behind one network link.
// Source: Intra-Cell 3.3 (OTA).  Any number of ranks.
#include "schedule/builder.h"

namespace fanlight::bcast_algorithms {

Schedule one_to_all(const Problem& problem) {
    Builder b(problem);
    if (problem.rank == problem.root) {
        if (problem.size > 1) b.offer_to_all_others(input(), problem.bytes);
        b.copy(input(), output(), problem.bytes);
    } else {
        b.get(problem.root, 0, input(), output(), problem.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

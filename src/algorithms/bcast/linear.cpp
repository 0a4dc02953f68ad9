// The root puts the vector to one rank after the other; each put is over before the next begins.
//
// Cost: (P - 1) (a + n b), all at the root: what the trees are measured against.
// Source: RMA trees II (linear).  Any number of ranks.
#include "schedule/builder.h"

namespace fanlight::bcast_algorithms {

Schedule linear(const Problem& problem) {
    Builder b(problem);
    if (problem.rank == problem.root) {
        for (int i = 1; i < problem.size; ++i) {
            b.put(problem.absolute(i), input(), output(), problem.bytes);
            b.next_round();
        }
        b.copy(input(), output(), problem.bytes);
    } else {
        b.arrive(problem.root, output(), problem.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

// The vector goes down a binary tree, numbered from the root on: rank r puts it to ranks
// 2r + 1 and 2r + 2.
//
//     0 -> 1, 2     1 -> 3, 4     2 -> 5, 6     3 -> 7
//
// Cost: floor(log2 P) (2 a + 2 n b).
// Source: RMA trees II (binary tree).  Any number of ranks.
#include "schedule/builder.h"

namespace fanlight::bcast_algorithms {

Schedule binary_tree(const Problem& problem) {
    Builder b(problem);
    const int relative = problem.relative(problem.rank);
    const bool root = relative == 0;
    if (!root) {
        b.arrive(problem.absolute((relative - 1) / 2), output(), problem.bytes);
        b.next_round();
    }
    for (int child = 2 * relative + 1; child <= 2 * relative + 2 && child < problem.size; ++child)
        b.put(problem.absolute(child), root ? input() : output(), output(), problem.bytes);
    if (root) b.copy(input(), output(), problem.bytes);
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

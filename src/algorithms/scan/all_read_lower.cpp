// Everybody offers its vector to the ranks above; rank r combines its own and the vectors of the
// ranks below in rank order, of exscan (which uses it as it is) without its own.
//
// Cost: a + (P - 1) (n b + n g), at the last rank.  For short vectors inside a node: one
// latency, no rank waits for another's combining.
// Source: Intra-Cell 3.3 (OTA), done from all ranks below.  Any number of ranks and any
// operator.
#include <numeric>
#include <vector>

#include "algorithms/peers.h"

namespace fanlight::scan_algorithms {

Schedule all_read_lower(const Problem& problem) {
    Builder b(problem);
    std::vector<int> above(static_cast<std::size_t>(problem.size - 1 - problem.rank));
    std::iota(above.begin(), above.end(), problem.rank + 1);
    if (!above.empty()) b.offer(input(), problem.bytes, above);
    const int end = problem.operation == Operation::scan ? problem.rank + 1 : problem.rank;
    combine_in_rank_order(b, problem, {end, input(), input(), first_offer, problem.bytes}, output());
    return b.finish();
}

}  // namespace fanlight::scan_algorithms

// Step k: the 2^k blocks r, r + 1, ... that rank r has go to rank r - 2^k; in the last step only those that are still
// missing there.
//
//     0 <- 1 <- 2 <- 3 <- 4 <- 0     then 0 <= 2 <= 4 <= 1 <= 3 <= 0, two blocks each
//
// With Parameters::degree k they go to the k - 1 ranks r - k^i, r - 2 k^i ... in step i.
//
// Cost: ceil(log2 P) a + n (P - 1) b, n the length of a block; of degree k (k - 1) a in each of ceil(log_k P) steps.
// Source: Bruck et al. 1997 (radix r).  Any number of ranks.  The original gathers the blocks in shifted order and rotates
// them in the end.  A put can write each to its place, in two pieces where they wrap around, so nothing is left to rotate.
#include <algorithm>
#include <vector>

#include "algorithms/blocks.h"
#include "algorithms/circulant.h"

namespace fanlight::allgather_algorithms {

Schedule bruck(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Block own = problem.block(rank);
    b.copy(input(), output(own.offset), own.bytes);
    std::vector<int> counts;
    for (const int power : powers(problem)) {
        for (const int distance : multiples(problem, power)) {
            const int count = std::min(power, size - distance);
            counts.push_back(count);
            const int target = (rank - distance + size) % size;
            const int source = (rank + distance) % size;
            if (power == 1) b.put(target, input(), output(own.offset), own.bytes);
            else put_blocks(b, problem, target, Buffer::output, rank, count);
            arrive_blocks(b, problem, source, Buffer::output, source, count);
        }
        b.next_round();
    }
    Schedule result = b.finish();
    if (problem.contiguous_blocks()) {
        result.bounds = bounds_of_all(problem, 0, [&](int r, auto add) {
            for (const int count : counts) {
                const int before_the_end = std::min(count, size - r);
                add(static_cast<std::size_t>(before_the_end) * problem.bytes);
                add(static_cast<std::size_t>(count - before_the_end) * problem.bytes);
            }
        });
    } else {
        result.bounds.alike = problem.blocks.empty();
    }
    return result;
}

}  // namespace fanlight::allgather_algorithms

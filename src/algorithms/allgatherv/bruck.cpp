// Step k: the 2^k blocks r, r + 1, ... that rank r has go to rank r - 2^k; in the last step only those that are still
// missing there.
//
// The blocks travel side by side in scratch, the own one first, so a step is one message wherever the blocks lie in the
// output; copies bring them there in the end.
//
// With Parameters::degree k they go to the k - 1 ranks r - k^i, r - 2 k^i ... in step i.
//
// Cost: ceil(log2 P) a + N b + N c, N the sum of all blocks' lengths, c the time to copy a byte; of degree k (k - 1) a in
// each of ceil(log_k P) steps.
// Source: Bruck et al. 1997 (radix r).  Any number of ranks; short blocks.
#include <algorithm>
#include <vector>

#include "algorithms/blocks.h"
#include "algorithms/circulant.h"

namespace fanlight::allgatherv_algorithms {

Schedule bruck(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const std::vector<std::size_t> start = packed_offsets(problem);
    // Of blocks first .. first + count - 1, wrapping around.
    const auto length = [&](int first, int count) {
        const auto at = [&](int r) { return start[static_cast<std::size_t>(r)]; };
        const int end = first + count;
        return end <= size ? at(end) - at(first) : at(size) - at(first) + at(end - size);
    };
    const Address packed = b.reserve(size > 1 ? length(0, size) : 0);

    const Block own = problem.block(rank);
    if (size > 1) b.copy(input(), packed, own.bytes);
    b.next_round();
    std::vector<int> counts;
    for (const int power : powers(problem)) {
        for (const int distance : multiples(problem, power)) {
            const int count = std::min(power, size - distance);
            counts.push_back(count);
            const int target = (rank - distance + size) % size;
            const int source = (rank + distance) % size;
            // Behind the `distance` blocks that the receiver has already.
            b.put(target, packed, packed + length(target, distance), length(rank, count));
            b.arrive(source, packed + length(rank, distance), length(source, count));
        }
        b.next_round();
    }
    std::size_t at = 0;
    for (int i = 0; i < size; ++i) {
        const Block block = problem.block((rank + i) % size);
        b.copy(i == 0 ? input() : packed + at, output(block.offset), block.bytes);
        at += block.bytes;
    }
    Schedule result = b.finish();
    result.bounds = bounds_of_all(problem, 0, [&](int r, auto add) {
        for (const int count : counts) add(length(r, count));
    });
    return result;
}

}  // namespace fanlight::allgatherv_algorithms

// Partners at distance 1, 2, 4 ... exchange all the blocks that they have.
//
// The blocks travel side by side in scratch, in rank order, so a step is one message wherever the blocks lie in the output;
// copies bring them there in the end.
//
// Cost: log2 P a + N b + N c, N the sum of all blocks' lengths, c the time to copy a byte.
// Source: Spike exchange 3.5 and 5 (RMA_Allgather).  A power of two of ranks; short blocks.
#include <vector>

#include "algorithms/blocks.h"

namespace fanlight::allgatherv_algorithms {

Schedule recursive_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const std::vector<std::size_t> start = packed_offsets(problem);
    const auto at = [&](int r) { return start[static_cast<std::size_t>(r)]; };
    const Address packed = b.reserve(size > 1 ? start.back() : 0);

    const Block own = problem.block(rank);
    if (size > 1) b.copy(input(), packed + at(rank), own.bytes);
    b.next_round();
    // The `distance` ranks that exchange alike, of which this is one.
    const auto first = [](int r, int distance) { return r / distance * distance; };
    const auto length = [&](int r, int distance) { return at(first(r, distance) + distance) - at(first(r, distance)); };
    for (int distance = 1; distance < size; distance *= 2) {
        const int partner = rank ^ distance;
        const std::size_t mine = at(first(rank, distance)), theirs = at(first(partner, distance));
        b.put(partner, packed + mine, packed + mine, length(rank, distance));
        b.arrive(partner, packed + theirs, length(partner, distance));
        b.next_round();
    }
    for (int r = 0; r < size; ++r) {
        const Block block = problem.block(r);
        b.copy(r == rank ? input() : packed + at(r), output(block.offset), block.bytes);
    }
    Schedule result = b.finish();
    result.bounds = bounds_of_all(problem, 0, [&](int r, auto add) {
        for (int distance = 1; distance < size; distance *= 2) add(length(r, distance));
    });
    return result;
}

}  // namespace fanlight::allgatherv_algorithms

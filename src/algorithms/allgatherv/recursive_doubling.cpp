// Partners at distance 1, 2, 4 ... exchange all the blocks that they have.
//
// The blocks travel side by side in scratch, in rank order, so that a step is one message
// wherever the blocks lie in output; copies bring them there in the end.
//
// Cost: log2 P a + N b + N c, N the sum of all blocks' lengths, c the time to copy a byte.
// Source: Spike exchange 3.5 and 5 (RMA_Allgather).  A power of two of ranks; short blocks.
#include <vector>

#include "schedule/builder.h"

namespace fanlight::allgatherv_algorithms {

Schedule recursive_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    std::vector<std::size_t> start{0};  // of each rank's block in scratch, and the end
    for (int r = 0; r < size; ++r) start.push_back(start.back() + problem.block(r).bytes);
    const auto at = [&](int r) { return start[static_cast<std::size_t>(r)]; };
    const Address packed = b.reserve(size > 1 ? start.back() : 0);

    const Block own = problem.block(rank);
    if (size > 1) b.copy(input(), packed + at(rank), own.bytes);
    b.next_round();
    for (int distance = 1; distance < size; distance *= 2) {
        const int partner = rank ^ distance;
        const int mine = rank / distance * distance;
        const int theirs = partner / distance * distance;
        b.put(partner, packed + at(mine), packed + at(mine), at(mine + distance) - at(mine));
        b.arrive(partner, packed + at(theirs), at(theirs + distance) - at(theirs));
        b.next_round();
    }
    for (int r = 0; r < size; ++r) {
        const Block block = problem.block(r);
        b.copy(r == rank ? input() : packed + at(r), output(block.offset), block.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::allgatherv_algorithms

// Partners at distance 1, 2, 4 ... exchange all the blocks that they have.  If P is no power of two, the first ranks are
// folded in pairs, whose blocks travel together (fold.h).
//
// The blocks travel side by side in scratch, in rank order, so a step is one message (two on the way back to a folded rank)
// wherever the blocks lie in the output; copies bring them there.
//
// Cost: log2 P a + N b + N c, and 2 a + N b for the folding, N the sum of all blocks' lengths, c the time to copy a byte.
// Source: Spike exchange 3.5 and 5 (RMA_Allgather), for any number of ranks; short blocks.
#include <vector>

#include "algorithms/blocks.h"
#include "algorithms/fold.h"

namespace fanlight::allgatherv_algorithms {

Schedule folded_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Fold fold(size);
    const std::vector<std::size_t> start = packed_offsets(problem);
    const Address packed = b.reserve(size > 1 ? start.back() : 0);
    const auto at = [&](int r) { return packed + start[static_cast<std::size_t>(r)]; };
    const auto length = [&](int first, int last) {
        return start[static_cast<std::size_t>(last)] - start[static_cast<std::size_t>(first)];
    };
    const auto put = [&](int peer, int first, int last) {
        b.put(peer, at(first), at(first), length(first, last));
    };
    const auto arrive = [&](int peer, int first, int last) {
        b.arrive(peer, at(first), length(first, last));
    };

    if (fold.folded(rank)) {
        b.put(rank + 1, input(), at(rank), length(rank, rank + 1));
        arrive(rank + 1, 0, rank);
        arrive(rank + 1, rank + 1, size);
        b.next_round();
    } else {
        if (size > 1) b.copy(input(), at(rank), length(rank, rank + 1));
        if (fold.in_pair(rank)) arrive(rank - 1, rank - 1, rank);
        b.next_round();
        for (int distance = 1; distance < fold.count; distance *= 2) {
            const int number = fold.number(rank);
            const int partner = fold.rank(number ^ distance);
            const int mine = number / distance * distance;
            const int theirs = (number ^ distance) / distance * distance;
            put(partner, fold.first(mine), fold.first(mine + distance));
            arrive(partner, fold.first(theirs), fold.first(theirs + distance));
            b.next_round();
        }
        if (fold.in_pair(rank)) {
            put(rank - 1, 0, rank - 1);
            put(rank - 1, rank, size);
        }
    }
    for (int r = 0; r < size; ++r)
        b.copy(r == rank ? input() : at(r), output(problem.block(r).offset), problem.block(r).bytes);
    return b.finish();
}

}  // namespace fanlight::allgatherv_algorithms

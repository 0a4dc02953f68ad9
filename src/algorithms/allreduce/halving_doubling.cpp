// Partners at distance 1, 2, 4 ... halve what they are responsible for: each gives the half of its
// sums that the partner keeps and combines the half that it keeps itself.  Then the way back:
// partners at distance ... 4, 2, 1 exchange what they have complete.
//
//     4 ranks, parts 0123:  0 keeps 01, 1 keeps 23;  with 2 at distance 2: 0 keeps 0, 2 keeps 1
//
// Where P is no power of two, the first ranks are folded in pairs (fold.h).
//
// Cost: 2 log2 P a + 2 n (P - 1) / P b + n (P - 1) / P g; 2 (a + n b) + n g more for the folding.
// Source: Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, 4.5.  Any number of ranks, and,
// since the nearest partner comes first, any operator.  Long vectors.
#include <vector>

#include "algorithms/blocks.h"
#include "algorithms/fold.h"

namespace fanlight::allreduce_algorithms {

Schedule halving_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    if (problem.size == 1) {
        b.copy(input(), output(), bytes);
        return b.finish();
    }
    const Fold fold(problem.size);
    // Sums that are not complete; output takes what is complete alone, since a partner may bring
    // that while this rank still sends the sum.  The first reservation on all ranks.
    const Address sums = b.reserve(fold.folded(rank) ? 0 : bytes);
    if (fold.folded(rank)) {
        b.put(rank + 1, input(), sums, bytes);
        b.next_round();
        b.arrive(rank + 1, output(), bytes);
        return b.finish();
    }
    if (fold.in_pair(rank)) {
        b.arrive(rank - 1, sums, bytes);
        b.next_round();
        b.combine(input(), sums, bytes, Order::after);
        b.next_round();
    }

    Problem dealt = problem;  // among those that take part
    dealt.size = fold.count;
    std::size_t longest = 0;
    for (int i = 0; i < fold.count; ++i) longest = std::max(longest, part(dealt, i).bytes);
    const int number = fold.number(rank);
    struct Half {
        int partner;
        Block mine, theirs;
    };
    std::vector<Half> halves;
    int first = 0;  // of the parts that this rank is responsible for
    for (int distance = 1, width = fold.count / 2; width > 0; distance *= 2, width /= 2) {
        const bool upper = (number & distance) != 0;
        const int partner = fold.rank(number ^ distance);
        const Block mine = parts(dealt, first + (upper ? width : 0), width);
        const Block theirs = parts(dealt, first + (upper ? 0 : width), width);
        halves.push_back({partner, mine, theirs});
        if (upper) first += width;

        // What comes first to a rank's free memory takes in the rank's own there, without a copy;
        // else it waits in a slot, where the partner of another step cannot come.
        const Address slot = b.reserve(longest * static_cast<std::size_t>(width));
        const auto has_sums = [&](int r) { return distance > 1 || fold.in_pair(r); };
        const auto place = [&](int r, const Block& half) {
            return width == 1 ? output(half.offset) : has_sums(r) ? slot : sums + half.offset;
        };
        const Address own = has_sums(rank) ? sums : input();
        const Address arrived = place(rank, mine);
        b.put(partner, own + theirs.offset, place(partner, theirs), theirs.bytes);
        b.arrive(partner, arrived, mine.bytes);
        b.next_round();
        const bool partner_first = partner < rank;
        if (arrived == slot)
            b.combine(slot, sums + mine.offset, mine.bytes, partner_first ? Order::before : Order::after);
        else
            b.combine(own + mine.offset, arrived, mine.bytes, partner_first ? Order::after : Order::before);
        b.next_round();
    }
    for (auto half = halves.rbegin(); half != halves.rend(); ++half) {
        b.put(half->partner, output(half->mine.offset), output(half->mine.offset), half->mine.bytes);
        b.arrive(half->partner, output(half->theirs.offset), half->theirs.bytes);
        b.next_round();
    }
    if (fold.in_pair(rank)) b.put(rank - 1, output(), output(), bytes);
    return b.finish();
}

}  // namespace fanlight::allreduce_algorithms

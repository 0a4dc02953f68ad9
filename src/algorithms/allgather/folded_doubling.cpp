// Partners at distance 1, 2, 4 ... exchange all the blocks that they have.  If P is no power of two, the first ranks are
// folded in pairs, whose blocks travel together (fold.h).
//
//     5 ranks: 0 -> 1, then 01 <-> 2   3 <-> 4, then 012 <=> 34, then 1 -> 0 all but its own
//
// Cost: log2 P a + n (P - 1) b; for the folding a + n b before and a + n (P - 1) b after.
// Source: Spike exchange 3.5 and 5 (RMA_Allgather), for any number of ranks.
#include "algorithms/blocks.h"
#include "algorithms/fold.h"

namespace fanlight::allgather_algorithms {

Schedule folded_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Fold fold(size);
    const Block own = problem.block(rank);
    if (fold.folded(rank)) {
        b.put(rank + 1, input(), output(own.offset), own.bytes);
        b.copy(input(), output(own.offset), own.bytes);
        arrive_blocks(b, problem, rank + 1, Buffer::output, rank + 1, size - 1);
        return b.finish();
    }
    if (fold.in_pair(rank)) arrive_blocks(b, problem, rank - 1, Buffer::output, rank - 1, 1);
    if (fold.in_pair(rank) || size == 1) {
        b.copy(input(), output(own.offset), own.bytes);
        b.next_round();
    }
    for (int distance = 1; distance < fold.count; distance *= 2) {
        const int number = fold.number(rank);
        const int partner = fold.rank(number ^ distance);
        const int mine = number / distance * distance;
        const int theirs = (number ^ distance) / distance * distance;
        if (distance == 1 && !fold.in_pair(rank)) {
            b.put(partner, input(), output(own.offset), own.bytes);
            b.copy(input(), output(own.offset), own.bytes);
        } else {
            put_blocks(b, problem, partner, Buffer::output, fold.first(mine),
                       fold.first(mine + distance) - fold.first(mine));
        }
        arrive_blocks(b, problem, partner, Buffer::output, fold.first(theirs),
                      fold.first(theirs + distance) - fold.first(theirs));
        b.next_round();
    }
    if (fold.in_pair(rank)) put_blocks(b, problem, rank - 1, Buffer::output, rank, size - 1);
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms

// Partners at distance P/2, P/4, ... 1: each gives the half of the remaining blocks that lies
// on the partner's side and combines the half on its own side.
//
//     ranks 0..3 | 4..7, four blocks each;   then 0 1 | 2 3, two each;   then 0 | 1, one
//
// Cost: log2 P a + (P - 1) n b + (P - 1) n g, n the length of a block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4.  A power of two of ranks, blocks of any lengths
// (reduce_scatter uses it as it is); operators that commute: the distant partner comes before the
// near one.
#include "algorithms/blocks.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule recursive_halving(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Block own = problem.block(rank);
    if (size == 1) {
        b.copy(input(own.offset), output(), own.bytes);
        return b.finish();
    }
    // The running sums of all blocks, packed; each rank uses the half on its side alone.
    const Address sums = b.reserve(packed_offset(problem, size));
    const auto packed = [&](int block) { return packed_offset(problem, block); };
    const auto length = [&](int first, int count) { return packed(first + count) - packed(first); };

    for (int distance = size / 2; distance > 0; distance /= 2) {
        const int partner = rank ^ distance;
        const int mine = rank / distance * distance;
        const int theirs = partner / distance * distance;
        if (distance == size / 2) {
            for (const BlockRun& run : runs(problem, theirs, distance))
                b.put(partner, input(run.offset), sums + packed(theirs) + run.packed, run.bytes);
            for (const BlockRun& run : runs(problem, mine, distance))
                b.arrive(partner, sums + packed(mine) + run.packed, run.bytes);
            b.next_round();
            // The partner's shares come to rest, then take in the own ones: no copy.
            for (const BlockRun& run : runs(problem, mine, distance))
                b.combine(input(run.offset), sums + packed(mine) + run.packed, run.bytes,
                          rank < partner ? Order::before : Order::after);
        } else {
            b.put(partner, sums + packed(theirs), sums + packed(theirs),
                  length(theirs, distance));
            b.arrive(partner, sums + packed(mine), length(mine, distance),
                     rank < partner ? Order::after : Order::before);
        }
        b.next_round();
    }
    b.copy(sums + packed(rank), output(), own.bytes);
    return b.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

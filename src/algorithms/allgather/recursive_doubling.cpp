// Partners at distance 1, 2, 4 ... exchange all the blocks that they have.
//
//     0 <-> 1   2 <-> 3        then  0 <=> 2   1 <=> 3, two blocks each
//
// Cost: log2 P a + n (P - 1) b, n the length of a block.
// Source: Spike exchange 3.5 and 5 (RMA_Allgather).  A power of two of ranks.
#include "algorithms/blocks.h"

namespace fanlight::allgather_algorithms {

Schedule recursive_doubling(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const Block own = problem.block(rank);
    if (problem.size > 1) {
        b.put(rank ^ 1, input(), output(own.offset), own.bytes);
        arrive_blocks(b, problem, rank ^ 1, Buffer::output, rank ^ 1, 1);
    }
    b.copy(input(), output(own.offset), own.bytes);
    b.next_round();
    for (int distance = 2; distance < problem.size; distance *= 2) {
        const int partner = rank ^ distance;
        // What a rank has are the blocks of its aligned group of `distance` ranks.
        put_blocks(b, problem, partner, Buffer::output, rank / distance * distance, distance);
        arrive_blocks(b, problem, partner, Buffer::output, partner / distance * distance,
                      distance);
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms

// Neighbors around the ring exchange in turn: first their own block with one neighbor, then the two newest blocks with the
// other, then with the first, ...
//
//     0 <-> 1  2 <-> 3  4 <-> 5     then 1 <=> 2  3 <=> 4  5 <=> 0,     then 0 <=> 1 ...
//
// Cost: P / 2 a + n (P - 1) b: half the steps of a ring.
// Source: Chen, Carter, Yuan 2005 (neighbor exchange).  An even number of ranks.
#include "algorithms/blocks.h"

namespace fanlight::allgather_algorithms {

Schedule neighbor_exchange(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    const Block own = problem.block(rank);
    const auto partner = [&](int r, int i) {
        return (r + i) % 2 == 0 ? (r + 1) % size : (r + size - 1) % size;
    };
    // The first of the two blocks that are new to rank r after step i: after step 0 those of its
    // pair, then what was new to its partner of the step.
    const auto newest = [&](int r, int i) {
        for (; i > 0; --i) r = partner(r, i);
        return r / 2 * 2;
    };
    if (size > 1) {
        const int peer = partner(rank, 0);
        b.put(peer, input(), output(own.offset), own.bytes);
        arrive_blocks(b, problem, peer, Buffer::output, peer, 1);
    }
    b.copy(input(), output(own.offset), own.bytes);
    b.next_round();
    for (int i = 1; i < size / 2; ++i) {
        const int peer = partner(rank, i);
        put_blocks(b, problem, peer, Buffer::output, newest(rank, i - 1), 2);
        arrive_blocks(b, problem, peer, Buffer::output, newest(peer, i - 1), 2);
        b.next_round();
    }
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms

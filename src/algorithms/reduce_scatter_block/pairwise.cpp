// Round i: block r + i goes to rank r + i, and rank r - i's share of block r is combined with what is there: r, r - 1,
// r - 2, ... around the ring.
//
// Cost: (P - 1) (a + n b + n g), n the length of a block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4 (pairwise exchange).  Any number of ranks, blocks of any lengths
// (reduce_scatter uses it as it is); operators that commute, because the order of each block starts at another rank.
#include "algorithms/reduction.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule pairwise(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank;
    const int size = problem.size;
    reduce_around(b, problem, [&](int i, Order order) {
        const int target = (rank + i) % size;
        const Block out = problem.block(target);
        b.put(target, input(out.offset), output(), out.bytes);
        b.arrive((rank - i + size) % size, output(), problem.block(rank).bytes, order);
    });
    return b.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

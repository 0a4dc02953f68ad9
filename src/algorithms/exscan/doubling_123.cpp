// At distance 1 inputs move up, at distance 2 sums of two operands, and from then on, at distance 3, 6, 12 ..., what a rank
// has: the sum of as many operands below its own.
//
//     rank 7:  gets 6;  then 4 + 5 from rank 5;  then 1 + 2 + 3 from rank 4;  then 0 from rank 1
//
// Cost: q (a + n b) + q n g + n c, q = ceil(log2(P - 1) + log2(4 / 3)): about one round fewer than a shift and a scan.
// Source: Träff 2025 (arXiv 2507.04785, 123-doubling).  Any number of ranks and any operator.
#include "algorithms/prefix.h"

namespace fanlight::exscan_algorithms {

Schedule doubling_123(const Problem& problem) {
    Builder b(problem);
    const int rank = problem.rank, size = problem.size;
    const std::size_t bytes = problem.bytes;
    const bool gives = rank + 2 < size, takes = rank >= 2;
    const Address pair = b.reserve(bytes), slot = b.reserve(bytes);
    if (rank + 1 < size) b.put(rank + 1, input(), output(), bytes);
    if (rank > 0) b.arrive(rank - 1, output(), bytes);
    b.next_round();
    if (gives && rank > 0) {
        b.copy(output(), pair, bytes);
        b.next_round();
        b.combine(input(), pair, bytes, Order::after);
        b.next_round();
    }
    if (gives) b.put(rank + 2, rank == 0 ? input() : pair, slot, bytes);
    if (takes) b.arrive(rank - 2, slot, bytes);
    b.next_round();
    if (takes) b.combine(slot, output(), bytes, Order::before);
    b.next_round();
    double_prefixes(b, problem, 1, 3, output());
    return b.finish();
}

}  // namespace fanlight::exscan_algorithms

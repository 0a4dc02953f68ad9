// In each step the partners of Bine's butterfly (butterfly.h), the nearest last, exchange all that they have.  The blocks
// lie packed in the order in which that puts them together, and are copied to their places in the end.
//
// Cost: log2 P a + (P - 1) n b + P n c, n the length of a block, c the time to copy a byte.  Up to a third less crosses
// shared links between nodes.
// Source: De Sensi et al. 2025 (SC'25, arXiv 2508.17311).  A power of two of ranks, blocks of any lengths (allgatherv uses
// it as it is).
#include "algorithms/butterfly.h"

namespace fanlight::allgather_algorithms {

Schedule bine(const Problem& problem) {
    Builder b(problem);
    const Butterfly butterfly(problem.size, true);
    const PackedParts parts(problem, butterfly);
    const Address packed = b.reserve(problem.size > 1 ? parts.bytes(0, problem.size) : 0);
    const auto at = [&](int r) { return r == problem.rank ? input() : packed + parts.bytes(0, butterfly.part(r)); };
    if (problem.size > 1) b.copy(input(), packed + parts.bytes(0, butterfly.part(problem.rank)), problem.block(problem.rank).bytes);
    b.next_round();
    for (int k = butterfly.steps(); k-- > 0;) {
        const auto [partner, mine, theirs] = parts.step(k);
        b.put(partner, packed + mine.offset, packed + mine.offset, mine.bytes);
        b.arrive(partner, packed + theirs.offset, theirs.bytes);
        b.next_round();
    }
    for (int r = 0; r < problem.size; ++r) b.copy(at(r), output(problem.block(r).offset), problem.block(r).bytes);
    return b.finish();
}

}  // namespace fanlight::allgather_algorithms

// The vector's P parts are scattered down a binomial tree; then every part goes once around the ring, even to ranks that
// have it already (pruned_ring avoids that).
//
//     scatter: 0 -[4567]-> 4 -[67]-> 6 -[7]-> 7 ...      ring, step j: part r - j goes to r + 1
//
// Cost: (ceil(log2 P) + P - 1) a + 2 n (P - 1) / P b; P (P - 1) messages in the ring: 56 for 8 ranks, 90 for 10.
// Source: Pruned ring III (MPI_Bcast_native); Thakur, Rabenseifner, Gropp 2005.  Any number of ranks; the baseline that the
// paper improves upon.
#include "algorithms/bcast/scatter_and_ring.h"
#include "algorithms/blocks.h"

namespace fanlight::bcast_algorithms {

Schedule scatter_ring_allgather(const Problem& problem) {
    Builder b(problem);
    const int size = problem.size;
    const int relative = problem.relative(problem.rank);
    const bool root = relative == 0;
    // The ring writes every part of output but the own one, so that the parts that are only
    // passing through must rest elsewhere; and what it brings to the root, whose output is
    // mostly its input, must go elsewhere.  The first reservation, at offset 0 on all ranks.
    const Address aside = b.reserve(size > 1 ? problem.bytes : 0);
    scatter_parts(b, problem, tree_of_parts(problem, relative), aside);

    const int relative_next = (relative + 1) % size;
    const int next = problem.absolute(relative_next);
    const int previous = problem.absolute(relative + size - 1);
    for (int j = 0; j < size - 1; ++j) {
        const Block out = part(problem, (relative - j + size) % size);
        const Block in = part(problem, (relative - j - 1 + size) % size);
        const Address source = root ? input() : j == 0 ? aside : output();
        b.put(next, source + out.offset, (relative_next == 0 ? aside : output()) + out.offset,
              out.bytes);
        b.arrive(previous, (root ? aside : output()) + in.offset, in.bytes);
        b.next_round();
    }
    if (!root) {
        const Block own = part(problem, relative);
        b.copy(aside + own.offset, output(own.offset), own.bytes);
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

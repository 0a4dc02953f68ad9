// Everybody reads the first part of the root's vector while the root writes the last P-th part
// of it to everybody, so that the root's core works as much as the others'.
//
// Cost: a + n (P - 1) / P b.  For long vectors inside a node.
// Source: Intra-Cell 3.3, its OTA and G joined.  Any number of ranks.
#include "algorithms/peers.h"

namespace fanlight::bcast_algorithms {

Schedule read_and_write(const Problem& problem) {
    Builder b(problem);
    // On whole pages, by which memory of another process is copied.
    constexpr std::size_t page = 4096;
    const std::size_t read = (problem.bytes - problem.bytes / static_cast<std::size_t>(problem.size)) / page * page;
    const std::size_t written = problem.bytes - read;
    if (problem.rank == problem.root) {
        b.copy(input(), output(), problem.bytes);
        if (problem.size > 1) b.offer_to_all_others(input(), read);
        for (int peer : others(problem)) b.put(peer, input(read), output(read), written);
    } else {
        b.get(problem.root, 0, input(), output(), read);
        b.arrive(problem.root, output(read), written);
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

// The root reads the first half of everybody's vector while they write the second half to the root, which then combines.
// So all cores copy, where root_reads_all leaves that to the root's.
//
// Cost: a + n (P - 1) / 2 b + n (P - 1) g for two ranks; for more, reduce_scatter_gather also shares the combining.
// Source: Intra-Cell 3.3 (OTA and G), for reduce.  Any number of ranks.
#include "algorithms/peers.h"

namespace fanlight::reduce_algorithms {

Schedule read_and_write(const Problem& problem) {
    Builder b(problem);
    // On whole pages, by which memory of another process is copied.
    constexpr std::size_t page = 4096;
    const std::size_t read = problem.bytes / 2 / page * page;
    const std::size_t written = problem.bytes - read;
    // Where the root takes the operands: the first that is not its own in the output.
    const int first = problem.root == 0 ? 1 : 0;
    const auto place = [&](int r) {
        const int after = r - first - (r > problem.root && problem.root > first ? 1 : 0);
        return r == first ? output() : scratch(static_cast<std::size_t>(after - 1) * problem.bytes);
    };
    if (problem.size == 1) {
        b.copy(input(), output(), problem.bytes);
    } else if (problem.rank == problem.root) {
        b.reserve(static_cast<std::size_t>(problem.size - 2) * problem.bytes);
        for (int peer : others(problem)) b.get(peer, 0, input(), place(peer), read);
        for (int peer : others(problem)) b.arrive(peer, place(peer) + read, written);
        b.next_round();
        if (first == 1) b.combine(input(), output(), problem.bytes, Order::before);
        for (int r = first + 1; r < problem.size; ++r) {
            b.next_round();
            b.combine(r == problem.root ? input() : place(r), output(), problem.bytes, Order::after);
        }
    } else {
        b.offer_to(problem.root, input(), read);
        b.put(problem.root, input(read), place(problem.rank) + read, written);
    }
    return b.finish();
}

}  // namespace fanlight::reduce_algorithms

// Each rank moves one part of the vector to everybody: it reads its part from the root and offers it to the others, who
// read all the parts.
//
//     part 0: at the root     part 1: 0 <- 1, then 1 <- 2, 3     part 2: 0 <- 2, then 2 <- 1, 3
//
// A part has at least Parameters::minimum bytes, so a short vector has fewer parts than ranks.  If it is shorter than two
// parts, everybody reads it from the root.
//
// Cost: 2 a + n b; M (P - 1) messages for M parts, n / M of everybody's read from each of M ranks.
// Source: Intra-Cell 3.3 (AG).  Any number of ranks; for long vectors.
#include <algorithm>

#include "algorithms/blocks.h"

namespace fanlight::bcast_algorithms {

Schedule scatter_allgather(const Problem& problem) {
    Builder b(problem);
    if (problem.rank == problem.root) {
        if (problem.size > 1) b.offer_to_all_others(input(), problem.bytes);
        b.copy(input(), output(), problem.bytes);
        return b.finish();
    }
    constexpr std::size_t default_minimum = 4096;  // the best of the paper's, with half of it
    const std::size_t minimum =
        problem.parameters.minimum > 0 ? problem.parameters.minimum : default_minimum;
    Problem dealt = problem;  // among so many ranks, counted from the root on
    dealt.size = static_cast<int>(std::clamp<std::size_t>(
        problem.bytes / minimum, 1, static_cast<std::size_t>(problem.size)));
    const auto read = [&](int relative, int from) {
        const Block block = part(dealt, relative);
        b.get(problem.absolute(from), 0, from == 0 ? input(block.offset) : output(block.offset),
              output(block.offset), block.bytes);
    };

    const int relative = problem.relative(problem.rank);
    if (relative < dealt.size) {
        read(relative, 0);
        b.next_round();
        std::vector<int> readers;
        for (int r = 0; r < problem.size; ++r)
            if (r != problem.root && r != problem.rank) readers.push_back(r);
        const Block own = part(dealt, relative);
        if (!readers.empty()) b.offer(output(own.offset), own.bytes, readers);
    }
    for (int i = 1; i <= dealt.size; ++i) {
        const int owner = (relative + i) % dealt.size;
        if (owner != relative) read(owner, owner);
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

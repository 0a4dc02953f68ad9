#include "algorithms/prefix.h"

#include <algorithm>
#include <vector>

#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight {

void double_prefixes(Builder& b, const Problem& problem, int lowest, int first_step,
                     Address value) {
    const int rank = problem.rank;
    const std::size_t bytes = problem.bytes;
    if (rank < lowest) return;
    for (int distance = 1 << first_step; distance < problem.size - lowest; distance *= 2) {
        // A slot for each step: the sender of a later step may be ahead.
        const Address slot = b.reserve(bytes);
        const bool receives = rank - distance >= lowest;
        if (rank + distance < problem.size) b.put(rank + distance, value, slot, bytes);
        if (receives) b.arrive(rank - distance, slot, bytes);
        b.next_round();
        if (receives) b.combine(slot, value, bytes, Order::before);
        b.next_round();
    }
}

Schedule prefixes_by_levels(const Problem& problem) {
    Composer c(problem);
    const auto through = stages(problem);
    const bool inclusive = problem.operation == Operation::scan;
    const std::vector<Address> operands = reduce_up(c, part_of(problem, Operation::reduce), through);
    const Problem exscan = part_of(problem, Operation::exscan), bcast = part_of(problem, Operation::bcast);
    const Address before = c.reserve(problem.bytes), inside = c.reserve(problem.bytes);
    for (std::size_t s = through.size(); s-- > 0;) {
        // The first group has rank 0: before that is nothing.
        const std::vector<int>& first = through[s].front().ranks;
        const std::vector<Composer::Group> others(through[s].begin() + 1, through[s].end());
        c.add(exscan_algorithms::all_read_lower, exscan, through[s],
              [&](int rank) { return Composer::Buffers{operands[s], std::ranges::binary_search(first, rank) ? before : inside}; });
        c.add(bcast_algorithms::one_to_all, bcast, others, [&](int) { return Composer::Buffers{before, before}; });
        for (const Composer::Group& group : others)
            if (group.ranks.front() != problem.rank && std::ranges::binary_search(group.ranks, problem.rank))
                c.combine(inside, before, problem.bytes, Order::after);
    }
    if (inclusive) c.copy(input(), output(), problem.bytes);
    if (problem.rank > 0 && inclusive) c.combine(before, output(), problem.bytes, Order::before);
    if (problem.rank > 0 && !inclusive) c.copy(before, output(), problem.bytes);
    return c.finish();
}

}  // namespace fanlight

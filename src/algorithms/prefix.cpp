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
    Levels levels(problem);
    const bool inclusive = problem.operation == Operation::scan;
    const std::vector<Address> operands = levels.reduce_up(problem.bytes);
    const Problem exscan = levels.part(Operation::exscan, problem.bytes),
                  bcast = levels.part(Operation::bcast, problem.bytes);
    const Address before = levels.reserve(problem.bytes), inside = levels.reserve(problem.bytes);
    for (std::size_t s = levels.stages().size(); s-- > 0;) {
        const Levels::Groups& groups = levels.stages()[s];
        // The first group has rank 0: before that is nothing.
        const std::vector<int>& first = groups.front().ranks;
        const Levels::Groups others(groups.begin() + 1, groups.end());
        levels.add(levels.chosen(s, Operation::exscan, exscan_algorithms::all_read_lower), exscan, groups,
                   [&](int rank) { return Levels::Buffers{operands[s], std::ranges::binary_search(first, rank) ? before : inside}; });
        levels.add(levels.chosen(s, Operation::bcast, bcast_algorithms::one_to_all), bcast, others, Levels::everywhere(before, before));
        for (const Levels::Group& group : others)
            if (group.ranks.front() != problem.rank && std::ranges::binary_search(group.ranks, problem.rank))
                levels.combine(inside, before, problem.bytes, Order::after);
    }
    if (inclusive) levels.copy(input(), output(), problem.bytes);
    if (problem.rank > 0 && inclusive) levels.combine(before, output(), problem.bytes, Order::before);
    if (problem.rank > 0 && !inclusive) levels.copy(before, output(), problem.bytes);
    return levels.finish();
}

}  // namespace fanlight

// Level by level (of a scan one inside, exscans between) each rank learns the sum of what precedes it in its domain, and the
// last one the domain's total.  Then the sum of what precedes each domain comes down, and each rank there combines it with
// its own.
//
// Cost: of each level that of a scan or an exscan and a bcast there, and n g.
// Source: Pruned ring I (multi-core aware collectives).  Any operator; exscan uses it as it is.  If a domain's ranks are not
// consecutive, all ranks count as one domain.
#include <algorithm>
#include <vector>

#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::scan_algorithms {

namespace {

// None that offers its output, into which more is combined on the way down.
Schedule inner_prefixes(const Problem& p) {
    if (p.size <= 16) return all_read_lower(p);
    return p.operation == Operation::scan ? recursive_doubling(p) : exscan_algorithms::recursive_doubling(p);
}

}  // namespace

Schedule by_levels(const Problem& problem) {
    Levels levels(problem);
    const bool inclusive = problem.operation == Operation::scan;
    const std::size_t bytes = problem.bytes, last = levels.last();
    const Problem bcast = levels.part(Operation::bcast, bytes);
    const auto is_in = [&](const Levels::Group& g) { return std::ranges::find(g.ranks, problem.rank) != g.ranks.end(); };
    // Up: in each group what lies before a rank there; its last rank then has what the group comes to.
    std::vector<Address> before{output()};
    Address value = input();
    for (std::size_t s = 0; s <= last; ++s) {
        const Operation operation = s == 0 ? problem.operation : Operation::exscan;
        if (s > 0) before.push_back(levels.reserve(bytes));
        levels.add(levels.chosen(s, operation, inner_prefixes), levels.part(operation, bytes), levels.stages()[s], Levels::everywhere(value, before[s]));
        if (s == last) break;
        const Address total = levels.reserve(bytes);
        for (const Levels::Group& group : levels.stages()[s]) {
            if (group.ranks.back() != problem.rank) continue;
            const bool is_one = group.ranks.size() == 1;
            levels.copy(is_one ? value : before[s], total, bytes);
            if (!is_one && operation == Operation::exscan) levels.combine(value, total, bytes, Order::after);
        }
        value = total;
    }
    // Down: what lies before a group comes from its last rank.  Before the first group is nothing.
    for (std::size_t s = last; s-- > 0;) {
        const Levels::Groups others(levels.stages()[s].begin() + 1, levels.stages()[s].end());
        levels.add(levels.chosen(s, Operation::bcast, inner_bcast), bcast, others, Levels::everywhere(before[s + 1], before[s + 1]));
        const auto group = std::ranges::find_if(others, is_in);
        if (group == others.end()) continue;
        if (group->ranks.front() != problem.rank || (s == 0 && inclusive)) levels.combine(before[s + 1], before[s], bytes, Order::before);
        else levels.copy(before[s + 1], before[s], bytes);
    }
    return levels.finish();
}

}  // namespace fanlight::scan_algorithms

// On each level, from the innermost to the outermost, a rank meets those that have its place in the other domains there,
// and hands each of them all blocks for that one's domain together.  With 2x2, ranks 0 1 | 2 3, of rank 0:
//
//     to 1  what is for 1 and 3        then to 2  what is for 2, from itself and from 1
//
// A place's number has a digit for each level.  Before the exchange of a level its digit tells for whom a block is, and
// after it from whom.  Blocks for the same rank are packed side by side first.
//
// Cost: in each level of radix m a + (m - 1) / m n P b, n the length of a block, and n P c to pack, c the time to copy a
// byte: few messages between the domains, but each block moves once in each level.
// Source: Bruck et al. 1997 (radix r), its digits the machine's.  A level whose domains differ in size counts as one
// domain.  If their ranks are not consecutive, or blocks do not touch (those of a piece), blocks are packed once more
// before and after.
#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight::alltoall_algorithms {

Schedule by_levels(const Problem& problem) {
    Levels levels(problem);
    std::vector<int> radices;  // of the digits, the outermost first
    for (std::size_t s = levels.stages().size(); s-- > 0;) {
        const Levels::Groups& groups = levels.stages()[s];
        const std::size_t radix = groups[0].ranks.size();
        if (std::ranges::any_of(groups, [&](const Levels::Group& g) { return g.ranks.size() != radix; })) return pairwise(problem);
        radices.push_back(static_cast<int>(radix));
    }
    const std::size_t digits = radices.size(), length = problem.bytes;
    if (digits == 1) return pairwise(problem);
    const Packing packing(problem, levels.order());
    Address blocks = packing.pack(levels);
    // Blocks are in the order of their digits; `order` says which digit counts most, and so on.
    std::vector<std::size_t> order(digits);
    std::iota(order.begin(), order.end(), 0);
    std::vector<int> weight(digits, 1);  // of a digit in a place's number
    for (std::size_t d = digits - 1; d-- > 0;) weight[d] = weight[d + 1] * radices[d + 1];

    for (std::size_t digit = digits; digit-- > 0;) {
        // The digit comes to the front of `outer` values of those before it; `inner` blocks stay together.
        const auto at = std::ranges::find(order, digit);
        int inner = 1, outer = 1;
        for (auto d = order.begin(); d != order.end(); ++d) (d < at ? outer : inner) *= radices[*d];
        inner /= radices[digit];
        std::rotate(order.begin(), at, at + 1);
        const Address packed = levels.reserve(length * static_cast<std::size_t>(problem.size));
        const auto run = static_cast<std::size_t>(inner) * length;
        for (int value = 0; value < radices[digit]; ++value)
            for (int o = 0; o < outer; ++o)
                levels.copy(blocks + static_cast<std::size_t>(o * radices[digit] + value) * run,
                            packed + static_cast<std::size_t>(value * outer + o) * run, run);

        Levels::Groups groups;
        for (int r = 0; r < problem.size; ++r) {  // places
            if (r / weight[digit] % radices[digit] != 0) continue;
            Levels::Group& group = groups.emplace_back();
            for (int value = 0; value < radices[digit]; ++value) group.ranks.push_back(levels.order()[static_cast<std::size_t>(r + value * weight[digit])]);
        }
        Problem part;
        part.operation = Operation::alltoall;
        part.bytes = length * static_cast<std::size_t>(problem.size / radices[digit]);
        blocks = digit == 0 ? packing.room_to_unpack(levels) : levels.reserve(length * static_cast<std::size_t>(problem.size));
        levels.add(levels.chosen(digits - 1 - digit, Operation::alltoall, all_write_all), part, groups, Levels::everywhere(packed, blocks));
    }
    packing.unpack(levels, blocks);
    return levels.finish();
}

}  // namespace fanlight::alltoall_algorithms

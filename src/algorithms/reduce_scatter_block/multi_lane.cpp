// Each rank combines, in its innermost domain, the blocks of all ranks of its place in any domain, packed side by side;
// then with the ranks of that place in the surrounding domains, and so on.  Between the outermost domains each gets its
// own.
//
// Cost: N c to pack, N the length of all blocks, c the time to copy a byte; a + (b + g) N (m - 1) / m inside a level of
// m parts, N the length that its ranks share; between the n outermost domains for each rank a + (b + g) M, M the
// length that it then has, long ones (n - 1) a.
// Source: Träff, Hunold 2020 (multi-lane), of any number of levels.  Blocks of any lengths (reduce_scatter uses it as it
// is).
#include <algorithm>

#include "algorithms/blocks.h"
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"

namespace fanlight::reduce_scatter_block_algorithms {

namespace {

// In the innermost domains, for each of those alike: the blocks are combined where they lie.
Address one_by_one(Lanes& lanes) {
    const Address held = lanes.reserve(lanes.longest_part(1));
    const Packing& packing = lanes.packing();
    for (std::size_t i = 0; i < lanes.count(0); ++i)
        lanes.add(reduce_scatter_algorithms::all_read_all, lanes.blocks_of_alike(0, i, Operation::reduce_scatter), lanes.stage(0), [&](int r) {
            return Lanes::Buffers{input(), held + (packing.of(lanes.alike(0, r)[i]).offset - lanes.part(1, r).offset)};
        });
    return lanes.reduce_up(held, 1);
}

}  // namespace

Schedule multi_lane(const Problem& problem) {
    Lanes lanes(problem);
    const std::size_t last = lanes.last();
    const int inside = offers_of_blocks(static_cast<int>(lanes.stage(0).front().ranks.size()));
    const bool unpacked = lanes.one_by_one(static_cast<std::size_t>(most_offers / std::max(inside, 1)));
    const Address held = unpacked ? one_by_one(lanes) : lanes.reduce_up(lanes.packing().pack(lanes));
    const bool in_turn = problem.commutative && lanes.longest_part(last) > longest_in_few_steps;
    lanes.add(lanes.across(Operation::reduce_scatter, in_turn ? reduce_scatter_algorithms::pairwise : reduce_scatter_algorithms::all_read_all),
              lanes.shares(last, Operation::reduce_scatter), lanes.stage(last), Lanes::everywhere(held, output()));
    return lanes.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

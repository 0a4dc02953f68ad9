// Each rank combines, in its innermost domain, the blocks of all ranks of its place in any domain, packed side by
// side; then with the ranks of that place in the domains around, and so on; between the outermost domains each
// gets its own.
//
// Cost: N c to pack, N the length of all blocks, c the time to copy a byte; a + (b + g) N (m - 1) / m inside a level of
// m parts, N the length that its ranks share; between the n outermost domains for each rank a + (b + g) M, M the
// length that it then has, long ones (n - 1) a.
// Source: Träff, Hunold 2020 (multi-lane), of any number of levels.  Blocks of any lengths (reduce_scatter uses it as
// it is).
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"

namespace fanlight::reduce_scatter_block_algorithms {

Schedule multi_lane(const Problem& problem) {
    Lanes lanes(problem);
    const std::size_t last = lanes.last();
    const Address held = lanes.reduce_up(lanes.pack());
    const bool in_turn = problem.commutative && lanes.longest_part(last) > longest_in_few_steps;
    lanes.add(in_turn ? reduce_scatter_algorithms::pairwise : reduce_scatter_algorithms::all_read_all, lanes.shares(last, Operation::reduce_scatter),
              lanes.stage(last), Lanes::everywhere(held, output()));
    return lanes.finish();
}

}  // namespace fanlight::reduce_scatter_block_algorithms

// Each rank combines its share of the vector in its innermost domain; then, with the ranks of its place in the surrounding
// domains, its share of that; and so on.  Between the outermost domains the shares are reduced to all, and gathered again
// on the way back.
//
// Cost: 2 a + (b + g) N (m - 1) / m + b N (m - 1) / m inside a level of m parts, N the length that its ranks
// share; between the n outermost domains each of their r ranks ceil(log2 n) (a + (b + g) N / r), long ones
// 2 log2 n a + 2 b N / r.
// Source: Träff, Hunold 2020 (multi-lane), of any number of levels.
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"

namespace fanlight::allreduce_algorithms {

Schedule multi_lane(const Problem& problem) {
    Lanes lanes(problem);
    const Address held = lanes.reduce_up(input());
    // Each lane's part alone is long or short.
    const bool few_steps = lanes.longest_part(lanes.last()) <= 16 * longest_in_few_steps;
    lanes.add(lanes.across(Operation::allreduce, few_steps ? recursive_doubling : halving_doubling), lanes.across(Operation::allreduce), lanes.stage(lanes.last()),
              [&](int r) { return Lanes::Buffers{held, output(lanes.part(lanes.last(), r).offset)}; });
    lanes.allgather_down(output());
    return lanes.finish();
}

}  // namespace fanlight::allreduce_algorithms

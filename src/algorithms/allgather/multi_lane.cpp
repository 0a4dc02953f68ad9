// Each rank's block goes to the ranks of its place in the other outermost domains; what a rank then has is
// gathered inside these, level by level, and put in the order of the ranks.
//
// Cost: between the n outermost domains ceil(log2 n) a + n b for each rank, n b the length of its place's blocks,
// long ones (n - 1) a; a + b N (m - 1) / m inside a level of m parts, N the length of what its ranks then have; N c to
// unpack, c the time to copy a byte.
// Source: Träff, Hunold 2020 (multi-lane), of any number of levels.  Blocks of any lengths (allgatherv uses it as it is).
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"

namespace fanlight::allgather_algorithms {

Schedule multi_lane(const Problem& problem) {
    Lanes lanes(problem);
    const std::size_t last = lanes.last();
    const Address all = lanes.room_to_unpack();
    lanes.add(lanes.longest_part(last) <= longest_in_few_steps ? allgatherv_algorithms::bruck : ring, lanes.shares(last, Operation::allgatherv),
              lanes.stage(last), [&](int r) { return Lanes::Buffers{input(), all + lanes.part(last, r).offset}; });
    lanes.allgather_down(all);
    lanes.unpack(all);
    return lanes.finish();
}

}  // namespace fanlight::allgather_algorithms

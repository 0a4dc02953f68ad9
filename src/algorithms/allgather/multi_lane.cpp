// Each rank's block goes to the ranks of its place in the other outermost domains.  Then the ranks gather what they have
// inside the domains, level by level, and put it in rank order.  Long blocks are not packed for that, but gathered in one
// operation each; those of the own domain meanwhile.
//
// Cost: between the n outermost domains ceil(log2 n) a + n b for each rank, n b the length of its place's blocks,
// long ones (n - 1) a; a + b N (m - 1) / m inside a level of m parts, N the length of what its ranks then have; N c to
// unpack, c the time to copy a byte.
// Source: Träff, Hunold 2020 (multi-lane), of any number of levels.  Blocks of any lengths (allgatherv uses it as it is).
#include "algorithms/blocks.h"
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"

namespace fanlight::allgather_algorithms {

namespace {

// One for the next: the blocks lie at their places, and nothing is copied to be packed.
Schedule one_by_one(const Problem& problem, Lanes& lanes) {
    const std::size_t last = lanes.last();
    const auto inside = [&](std::size_t s, std::size_t i) {
        lanes.add(allgatherv_algorithms::all_read_all, lanes.blocks_of_alike(s, i, Operation::allgatherv), lanes.stage(s), [&](int r) {
            const int owner = lanes.alike(s, r)[i];
            return Lanes::Buffers{owner == r ? input() : output(problem.block(owner).offset), output()};
        });
    };
    const auto across = [&] {
        lanes.add(lanes.across(Operation::allgatherv, allgatherv_algorithms::ring), lanes.blocks_of_alike(last, 0, Operation::allgatherv), lanes.stage(last),
                  Lanes::everywhere(input(), output()));
    };
    const auto at_home = [&] {
        for (std::size_t s = last; s-- > 0;)
            for (std::size_t i = 0; i < lanes.count_at_home(s); ++i) inside(s, i);
    };
    lanes.overlap({across, at_home});
    for (std::size_t s = last; s-- > 0;)
        for (std::size_t i = lanes.count_at_home(s); i < lanes.count(s); ++i) inside(s, i);
    return lanes.finish();
}

}  // namespace

Schedule multi_lane(const Problem& problem) {
    Lanes lanes(problem);
    // Inside each takes an offer.
    if (lanes.one_by_one(most_offers)) return one_by_one(problem, lanes);
    const std::size_t last = lanes.last();
    const Address all = lanes.packing().room_to_unpack(lanes);
    const auto algorithm = lanes.longest_part(last) <= longest_in_few_steps ? allgatherv_algorithms::bruck : allgatherv_algorithms::ring;
    lanes.add(lanes.across(Operation::allgatherv, algorithm), lanes.shares(last, Operation::allgatherv), lanes.stage(last),
              [&](int r) { return Lanes::Buffers{input(), all + lanes.part(last, r).offset}; });
    lanes.allgather_down(all);
    lanes.packing().unpack(lanes, all);
    return lanes.finish();
}

}  // namespace fanlight::allgather_algorithms

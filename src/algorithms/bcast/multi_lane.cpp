// The vector goes to all ranks of the root's outermost domain, and from there each part to the ranks of its place in the
// other domains, which gather it level by level.
//
// Cost: 2 (a + b N (m - 1) / m) among the m ranks of the root's domain, N the length; between the n outermost
// domains each of their r ranks ceil(log2 n) (a + b N / r); a + b N' (m' - 1) / m' inside a level of m' parts,
// N' the length that its ranks share.
// Source: Träff, Hunold 2020 (multi-lane), of any number of levels.
#include <algorithm>

#include "algorithms/declarations.h"
#include "algorithms/lanes.h"

namespace fanlight::bcast_algorithms {

Schedule multi_lane(const Problem& problem) {
    Lanes lanes(problem);
    const std::size_t last = lanes.last();
    const auto vector = [&](int r) { return r == problem.root ? input() : output(); };
    if (last > 0) {
        const Lanes::Group home{lanes.home(), static_cast<int>(std::ranges::find(lanes.home(), problem.root) - lanes.home().begin())};
        Problem whole;
        whole.operation = Operation::bcast;
        whole.bytes = problem.bytes;
        lanes.add(scatter_allgather, whole, {home}, [&](int r) { return Lanes::Buffers{vector(r), output()}; });
    }
    const bool in_parts = lanes.stage(last).front().ranks.size() > 2 && lanes.longest_part(last) >= 64 * 1024;
    lanes.add(lanes.across(Operation::bcast, in_parts ? pruned_ring : binomial), lanes.across(Operation::bcast), lanes.stage(last), [&](int r) {
        const std::size_t at = lanes.part(last, r).offset;
        return Lanes::Buffers{vector(r) + at, output(at)};
    });
    lanes.allgather_down(output(), lanes.home());
    return lanes.finish();
}

}  // namespace fanlight::bcast_algorithms

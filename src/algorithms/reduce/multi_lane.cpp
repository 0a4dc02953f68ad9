// Each rank combines its share of the vector in its innermost domain; then, with the ranks of its place in the surrounding
// domains, its share of that; and so on.  Between the outermost domains the shares go to the root's domain, where they are
// gathered.
//
// Cost: a + (b + g) N (m - 1) / m inside a level of m parts, N the length that its ranks share; between the n
// outermost domains each of their r ranks ceil(log2 n) (a + (b + g) N / r); a + b N (m - 1) / m to gather.
// Source: Träff, Hunold 2020 (multi-lane), of any number of levels.
#include "algorithms/declarations.h"
#include "algorithms/lanes.h"

namespace fanlight::reduce_algorithms {

Schedule multi_lane(const Problem& problem) {
    Lanes lanes(problem);
    const Address held = lanes.reduce_up(input());
    const std::size_t last = lanes.last();
    const Address collected = lanes.reserve(last > 0 ? problem.bytes : 0);
    const auto vector = [&](int r) { return r == problem.root ? output() : collected; };
    const bool in_parts = lanes.stage(last).front().ranks.size() > 2 && lanes.longest_part(last) >= 64 * 1024;
    lanes.add(lanes.across(Operation::reduce, in_parts ? reduce_scatter_gather : binomial), lanes.across(Operation::reduce), lanes.stage(last),
              [&](int r) { return Lanes::Buffers{held, vector(r) + lanes.part(last, r).offset}; });
    for (std::size_t s = last; s-- > 0;)
        lanes.add(gather_algorithms::root_reads_all, lanes.shares(s, Operation::gather), lanes.around_root(s), lanes.in_place(s, vector));
    return lanes.finish();
}

}  // namespace fanlight::reduce_algorithms

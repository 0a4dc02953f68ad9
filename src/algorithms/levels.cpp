#include "algorithms/levels.h"

#include <algorithm>
#include <numeric>

#include "algorithms/declarations.h"

namespace fanlight {

std::vector<std::vector<Composer::Group>> stages(const Problem& problem) {
    Topology topology = problem.topology.simplified();
    const auto blocked = [](const Domains& d) { return d.blocked(); };
    if (reduces(problem.operation) && !problem.commutative && !std::all_of(topology.all().begin(), topology.all().end(), blocked))
        topology = {};

    std::vector<std::vector<Composer::Group>> result;
    std::vector<int> representatives(static_cast<std::size_t>(problem.size));
    std::iota(representatives.begin(), representatives.end(), 0);
    const auto meet = [&](const Domains& domains) {
        std::vector<Composer::Group> groups(static_cast<std::size_t>(domains.count()));
        for (const int r : representatives) {
            Composer::Group& group = groups[static_cast<std::size_t>(domains.of(r))];
            if (has_root(problem.operation) && r == problem.root) group.root = static_cast<int>(group.ranks.size());
            group.ranks.push_back(r);
        }
        representatives.clear();
        for (const Composer::Group& group : groups) representatives.push_back(group.ranks[static_cast<std::size_t>(group.root)]);
        std::sort(representatives.begin(), representatives.end());
        result.push_back(std::move(groups));
    };
    for (int level = topology.levels() - 1; level >= 0; --level) meet(topology.level(level));
    meet(Domains(std::vector<int>(static_cast<std::size_t>(problem.size), 0)));
    return result;
}

Problem part_of(const Problem& whole, Operation operation) {
    Problem p;
    p.operation = operation;
    p.bytes = family_of(whole.operation) == Family::signal ? 0 : whole.bytes;
    p.element = whole.element;
    p.commutative = whole.commutative;
    return p;
}

Composer::Buffers going_down(const Problem& problem, int rank) {
    const bool source = problem.operation == Operation::bcast && rank == problem.root;
    return {source ? input() : output(), output()};
}

Address reduce_up(Composer& c, const Problem& problem, const std::vector<std::vector<Composer::Group>>& stages) {
    const Problem part = part_of(problem, Operation::reduce);
    const auto algorithm = part.bytes <= most_bytes_of_a_short_reduction ? reduce_algorithms::root_reads_all
                                                                       : reduce_algorithms::reduce_scatter_gather;
    Address from = input();
    for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
        const Address sum = c.reserve(part.bytes);
        c.add(algorithm, part, stages[s], [&](int) { return Composer::Buffers{from, sum}; });
        from = sum;
    }
    return from;
}

void bcast_down(Composer& c, const Problem& problem, const std::vector<std::vector<Composer::Group>>& stages) {
    const auto buffers = [&](int rank) { return going_down(problem, rank); };
    for (std::size_t s = stages.size() - 1; s-- > 0;)
        c.add(bcast_algorithms::one_to_all, part_of(problem, Operation::bcast), stages[s], buffers);
}

}  // namespace fanlight

#include "algorithms/levels.h"

#include <algorithm>
#include <numeric>

#include "algorithms/declarations.h"

namespace fanlight {

std::vector<std::vector<Composer::Group>> stages(const Problem& problem) {
    Topology topology = problem.topology.simplified();
    const auto blocked = [](const Domains& d) { return d.blocked(); };
    const Family family = family_of(problem.operation);
    const bool blocks = family == Family::blocks || family == Family::blocks_v;
    const bool prefixes = problem.operation == Operation::scan || problem.operation == Operation::exscan;
    const bool in_order = blocks || prefixes || (reduces(problem.operation) && !problem.commutative);
    if (in_order && !std::all_of(topology.all().begin(), topology.all().end(), blocked)) topology = {};
    for (int r = 1; blocks && r < problem.size; ++r)
        if (problem.block(r).offset != problem.block(r - 1).offset + problem.block(r - 1).bytes) topology = {};

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

std::vector<Address> reduce_up(Composer& c, const Problem& part, const std::vector<std::vector<Composer::Group>>& stages) {
    const auto algorithm = part.bytes <= longest_in_few_steps ? reduce_algorithms::root_reads_all
                                                                       : reduce_algorithms::reduce_scatter_gather;
    std::vector<Address> operands{input()};
    for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
        operands.push_back(c.reserve(part.bytes));
        c.add(algorithm, part, stages[s], [&](int) { return Composer::Buffers{operands[s], operands[s + 1]}; });
    }
    return operands;
}

BlocksThroughLevels::BlocksThroughLevels(const Problem& problem, const std::vector<std::vector<Composer::Group>>& stages) {
    std::vector<Block> now;
    for (int r = 0; r < problem.size; ++r) now.push_back(problem.block(r));
    of_stage.push_back(now);
    for (const auto& groups : stages) {
        std::vector<Block> next(now.size());
        for (const Composer::Group& group : groups) {
            Block& all = next[static_cast<std::size_t>(group.ranks[static_cast<std::size_t>(group.root)])];
            all.offset = now[static_cast<std::size_t>(group.ranks.front())].offset;
            for (const int r : group.ranks) all.bytes += now[static_cast<std::size_t>(r)].bytes;
        }
        of_stage.push_back(now = std::move(next));
    }
}

std::size_t BlocksThroughLevels::total() const {
    std::size_t bytes = 0;
    for (const Block& b : of_stage[0]) bytes += b.bytes;
    return bytes;
}

Problem BlocksThroughLevels::part(Operation operation, std::size_t stage, const Composer::Group& group) const {
    Problem p;
    p.operation = operation;
    const std::vector<Block>& now = of_stage[stage];
    for (const int r : group.ranks) {
        const Block& b = now[static_cast<std::size_t>(r)];
        p.blocks.push_back({b.offset - now[static_cast<std::size_t>(group.ranks.front())].offset, b.bytes});
    }
    return p;
}

void BlocksThroughLevels::gather(Composer& c, const std::vector<std::vector<Composer::Group>>& stages, std::size_t count,
                                 const At& at) const {
    for (std::size_t s = 0; s < count; ++s)
        c.add(gather_algorithms::all_write_root, [&](const Composer::Group& g) { return part(Operation::gather, s, g); }, stages[s],
              [&](int rank) { return Composer::Buffers{at(s, rank), at(s + 1, rank)}; });
}

void BlocksThroughLevels::scatter(Composer& c, const std::vector<std::vector<Composer::Group>>& stages, std::size_t count,
                                  const At& at) const {
    for (std::size_t s = count; s-- > 0;)
        c.add(scatter_algorithms::root_writes_all, [&](const Composer::Group& g) { return part(Operation::scatter, s, g); }, stages[s],
              [&](int rank) { return Composer::Buffers{at(s + 1, rank), at(s, rank)}; });
}

std::size_t BlocksThroughLevels::offset(std::size_t stage, int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    std::size_t first = of_stage[0][r].offset;
    for (const std::vector<Block>& blocks : of_stage)
        if (blocks[r].bytes > 0) first = std::min(first, blocks[r].offset);
    return of_stage[stage][r].bytes > 0 ? of_stage[stage][r].offset - first : 0;
}

std::size_t BlocksThroughLevels::most(int root) const {
    std::size_t bytes = 0;
    for (const std::vector<Block>& blocks : of_stage)
        for (std::size_t r = 0; r < blocks.size(); ++r)
            if (static_cast<int>(r) != root) bytes = std::max(bytes, blocks[r].bytes);
    return bytes;
}

void bcast_down(Composer& c, const Problem& problem, const std::vector<std::vector<Composer::Group>>& stages) {
    const auto buffers = [&](int rank) { return going_down(problem, rank); };
    for (std::size_t s = stages.size() - 1; s-- > 0;)
        c.add(bcast_algorithms::one_to_all, part_of(problem, Operation::bcast), stages[s], buffers);
}

}  // namespace fanlight

#include "algorithms/levels.h"

#include <algorithm>
#include <numeric>

#include "algorithms/declarations.h"

namespace fanlight {

Composer::Algorithm algorithm_for(const Problem& whole, std::size_t stage, std::size_t last, Operation operation, Schedule (*own)(const Problem&)) {
    const Algorithm* named = named_for_stage(whole.parameters.levels, stage, last);
    if (!named || named->operation != operation) return own;
    return [=](const Problem& p) { return restriction(*named, p).empty() ? named->schedule(p) : own(p); };
}

Levels::Levels(const Problem& problem) : Composer(problem) {
    Topology topology = problem.topology.simplified();
    const auto blocked = [](const Domains& d) { return d.blocked(); };
    const Family family = family_of(problem.operation);
    const bool blocks = family == Family::blocks || family == Family::blocks_v;
    const bool prefixes = problem.operation == Operation::scan || problem.operation == Operation::exscan;
    const bool in_order = blocks || prefixes || (reduces(problem.operation) && !problem.commutative);
    if (in_order && !std::all_of(topology.all().begin(), topology.all().end(), blocked)) topology = {};
    for (int r = 1; blocks && r < problem.size; ++r)
        if (problem.block(r).offset != problem.block(r - 1).offset + problem.block(r - 1).bytes) topology = {};

    std::vector<int> representatives(static_cast<std::size_t>(problem.size));
    std::iota(representatives.begin(), representatives.end(), 0);
    const auto meet = [&](const Domains& domains) {
        Groups groups(static_cast<std::size_t>(domains.count()));
        for (const int r : representatives) {
            Group& group = groups[static_cast<std::size_t>(domains.of(r))];
            if (has_root(problem.operation) && r == problem.root) group.root = static_cast<int>(group.ranks.size());
            group.ranks.push_back(r);
        }
        representatives.clear();
        for (const Group& group : groups) representatives.push_back(group.ranks[static_cast<std::size_t>(group.root)]);
        std::sort(representatives.begin(), representatives.end());
        stages_.push_back(std::move(groups));
    };
    for (int level = topology.levels() - 1; level >= 0; --level) meet(topology.level(level));
    meet(Domains(std::vector<int>(static_cast<std::size_t>(problem.size), 0)));
}

Problem Levels::part(Operation operation, std::size_t bytes) const {
    Problem p;
    p.operation = operation;
    p.bytes = bytes;
    p.element = whole().element;
    p.commutative = whole().commutative;
    return p;
}

std::vector<Address> Levels::reduce_up(std::size_t bytes) {
    const auto algorithm =
        bytes <= longest_in_few_steps ? reduce_algorithms::root_reads_all : reduce_algorithms::reduce_scatter_gather;
    std::vector<Address> operands{input()};
    for (std::size_t s = 0; s < last(); ++s) {
        operands.push_back(reserve(bytes));
        add(chosen(s, Operation::reduce, algorithm), part(Operation::reduce, bytes), stages_[s], everywhere(operands[s], operands[s + 1]));
    }
    return operands;
}

void Levels::bcast_down(std::size_t bytes, const BuffersOf& buffers) {
    for (std::size_t s = last(); s-- > 0;)
        add(chosen(s, Operation::bcast, bcast_algorithms::one_to_all), part(Operation::bcast, bytes), stages_[s], buffers);
}

LevelsOfBlocks::LevelsOfBlocks(const Problem& problem) : Levels(problem) {
    std::vector<Block> now;
    for (int r = 0; r < problem.size; ++r) now.push_back(problem.block(r));
    of_stage_.push_back(now);
    for (const Groups& groups : stages()) {
        std::vector<Block> next(now.size());
        for (const Group& group : groups) {
            Block& all = next[static_cast<std::size_t>(group.ranks[static_cast<std::size_t>(group.root)])];
            all.offset = now[static_cast<std::size_t>(group.ranks.front())].offset;
            for (const int r : group.ranks) all.bytes += now[static_cast<std::size_t>(r)].bytes;
        }
        of_stage_.push_back(now = std::move(next));
    }
}

std::size_t LevelsOfBlocks::total() const {
    std::size_t bytes = 0;
    for (const Block& b : of_stage_[0]) bytes += b.bytes;
    return bytes;
}

LevelsOfBlocks::At LevelsOfBlocks::held(Address own, Address all) {
    const int root = has_root(whole().operation) ? whole().root : -1;
    std::vector<std::size_t> first(of_stage_[0].size(), SIZE_MAX);
    std::size_t most = 0;
    for (std::size_t s = 0; s <= last(); ++s) {
        for (std::size_t r = 0; r < first.size(); ++r) {
            const Block& b = of_stage_[s][r];
            if (b.bytes > 0) first[r] = std::min(first[r], b.offset);
            if (last() > 0 && static_cast<int>(r) != root) most = std::max(most, b.bytes);
        }
    }
    const Address kept = reserve(most);
    return [=, this](std::size_t stage, int rank) {
        if (stage == 0) return own;
        const Block& b = of_stage_[stage][static_cast<std::size_t>(rank)];
        if (rank == root) return all + b.offset;
        return kept + (b.bytes > 0 ? b.offset - first[static_cast<std::size_t>(rank)] : 0);
    };
}

Problem LevelsOfBlocks::part(Operation operation, std::size_t stage, const Group& group) const {
    Problem p = Levels::part(operation, 0);
    const std::vector<Block>& now = of_stage_[stage];
    for (const int r : group.ranks) {
        const Block& b = now[static_cast<std::size_t>(r)];
        p.blocks.push_back({b.offset - now[static_cast<std::size_t>(group.ranks.front())].offset, b.bytes});
    }
    return p;
}

void LevelsOfBlocks::gather_up(std::size_t count, const At& at) {
    for (std::size_t s = 0; s < count; ++s)
        add(chosen(s, Operation::gather, gather_algorithms::all_write_root), [&](const Group& g) { return part(Operation::gather, s, g); }, stages()[s],
            [&](int rank) { return Buffers{at(s, rank), at(s + 1, rank)}; });
}

void LevelsOfBlocks::scatter_down(std::size_t count, const At& at) {
    for (std::size_t s = count; s-- > 0;)
        add(chosen(s, Operation::scatter, scatter_algorithms::root_writes_all), [&](const Group& g) { return part(Operation::scatter, s, g); }, stages()[s],
            [&](int rank) { return Buffers{at(s + 1, rank), at(s, rank)}; });
}

}  // namespace fanlight

#include "algorithms/lengths.h"

#include <algorithm>
#include <cstdint>

#include "algorithms/declarations.h"
#include "algorithms/levels.h"
#include "schedule/domain_lanes.h"

namespace fanlight {

namespace {

constexpr std::size_t length = sizeof(std::uint64_t);

// `whole` as lengths_of() has it.
Problem equal_blocks(const Problem& whole, Operation operation) {
    Problem p = whole;
    p.operation = operation;
    p.bytes = length;
    p.edges.clear();
    p.parameters = {};
    return p;
}

// The root knows all, and who stands for itself alone its own.
Schedule lengths_up(const Problem& whole) {
    const Problem problem = equal_blocks(whole, Operation::gather);
    LevelsOfBlocks levels(problem);
    levels.keep([&](std::size_t, Levels::Groups& groups) {
        std::erase_if(groups, [&](const Levels::Group& g) { return g.ranks[static_cast<std::size_t>(g.root)] == problem.root; });
    });
    levels.gather_up(levels.last(), [&](std::size_t stage, int rank) {
        return levels.bytes(stage, rank) == length ? input() : output(levels.offset(stage, rank));
    });
    return levels.finish();
}

Schedule lengths_down(const Problem& whole) {
    const Problem problem = equal_blocks(whole, Operation::scatter);
    LevelsOfBlocks levels(problem);
    levels.keep([&](std::size_t stage, Levels::Groups& groups) {
        for (Levels::Group& g : groups) {
            const int root = g.ranks[static_cast<std::size_t>(g.root)];
            std::erase_if(g.ranks, [&](int r) { return r != root && levels.bytes(stage, r) == length; });
            g.root = static_cast<int>(std::ranges::find(g.ranks, root) - g.ranks.begin());
        }
    });
    levels.scatter_down(levels.stages().size(), [&](std::size_t stage, int rank) {
        return rank == problem.root ? input(levels.offset(stage, rank)) : output(levels.offset(stage, rank));
    });
    return levels.finish();
}

const Algorithm& telling(Schedule (*schedule)(const Problem&)) {
    Algorithm& a = *new Algorithm{};
    a.operation = Operation::neighbor_alltoallv;
    a.name = "lengths";
    a.schedule = schedule;
    return a;
}

}  // namespace

const Algorithm* lengths_first(const Algorithm& a) {
    static const Algorithm &up = telling(lengths_up), &down = telling(lengths_down), &around = telling(neighbor_alltoallv_algorithms::all_write_all);
    if (!a.levels) return nullptr;
    if (a.operation == Operation::alltoallv) return &around;
    if (a.operation == Operation::gatherv) return &up;
    return a.operation == Operation::scatterv ? &down : nullptr;
}

namespace {

// To each neighbor those of its lane.
void lengths_around(const DomainLanes& lanes, std::vector<Edge>& edges) {
    if (!lanes.exist()) return;
    const std::size_t bytes = static_cast<std::size_t>(lanes.domains()) * length;
    for (int domain = 0; domain < lanes.domains(); ++domain)
        for (int from = 0; from < lanes.lanes(); ++from)
            for (int to = 0; to < lanes.lanes(); ++to)
                if (from != to)
                    edges.push_back({.from = lanes.rank(domain, from), .to = lanes.rank(domain, to), .bytes = bytes,
                                     .sent = lanes.place(0, to) * length, .taken = lanes.place(0, from) * length});
}

}  // namespace

std::vector<int> places_of_lengths(const Problem& p) {
    if (p.operation != Operation::alltoallv) return Stages(p).order();
    const DomainLanes lanes(p);
    std::vector<int> order(static_cast<std::size_t>(lanes.exist() ? p.size : 0));
    for (std::size_t r = 0; r < order.size(); ++r) order[lanes.place(lanes.domain(static_cast<int>(r)), lanes.lane(static_cast<int>(r)))] = static_cast<int>(r);
    return order;
}

std::vector<std::pair<std::size_t, std::size_t>> awaited_lengths(const Problem& p) {
    std::vector<std::pair<std::size_t, std::size_t>> result;
    const std::vector<int> order = places_of_lengths(p);
    if (p.operation == Operation::alltoallv) {
        const DomainLanes lanes(p);
        for (std::size_t i = 0; i < order.size(); ++i)
            if (lanes.lane(order[i]) != lanes.own_lane()) result.emplace_back(i, order.size() + i);
        return result;
    }
    const std::vector<int> theirs = Stages(p).stands_for(p.rank);
    for (std::size_t i = 0; i < order.size() && p.rank != p.root; ++i)
        if (const int r = order[i]; r != p.rank && std::ranges::find(theirs, r) != theirs.end()) result.emplace_back(i, static_cast<std::size_t>(r));
    return result;
}

std::vector<Block>& blocks_of_awaited(Problem& p) { return p.operation == Operation::alltoallv ? p.sends : p.blocks; }

Problem lengths_of(const Problem& whole) {
    Problem p = whole;
    const bool from_root = whole.operation == Operation::scatterv;
    p.operation = Operation::neighbor_alltoallv;
    p.blocks.clear();
    p.sends.clear();
    p.parameters = {};
    if (whole.operation == Operation::alltoallv) {
        lengths_around(DomainLanes(whole), p.edges);
        return p;
    }
    const Stages stages(whole);
    std::vector<std::size_t> place(stages.order().size());
    for (std::size_t i = 0; i < place.size(); ++i) place[static_cast<std::size_t>(stages.order()[i])] = i * length;
    for (int r = 0; r < p.size; ++r) {
        const std::vector<int> theirs = stages.stands_for(r);
        if (r == whole.root || theirs.size() == 1) continue;
        for (const int of : theirs) {
            const std::size_t at = place[static_cast<std::size_t>(of)];
            p.edges.push_back({.from = from_root ? whole.root : of, .to = r, .bytes = length, .sent = from_root ? at : 0, .taken = at});
        }
    }
    return p;
}

ByLength::ByLength(const Problem& problem) : short_blocks(problem), long_blocks_(problem) {
    const std::size_t minimum = problem.parameters.minimum ? problem.parameters.minimum : longest_in_few_steps + 1;
    for (int r = 0; r < problem.size; ++r) {
        const bool is_long = problem.block(r).bytes >= minimum;
        (is_long ? short_blocks : long_blocks_).blocks[static_cast<std::size_t>(r)].bytes = 0;
        if (r == problem.root) owners_.root = static_cast<int>(owners_.ranks.size());
        if (is_long || r == problem.root) owners_.ranks.push_back(r);
    }
}

void ByLength::move_straight(Composer& composer, Schedule (*algorithm)(const Problem&)) const {
    Problem part;
    part.operation = long_blocks_.operation;
    for (const int r : owners_.ranks) part.blocks.push_back(long_blocks_.block(r));
    composer.add(algorithm, part, {owners_}, Composer::everywhere(input(), output()));
}

}  // namespace fanlight

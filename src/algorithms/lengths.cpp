#include "algorithms/lengths.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "algorithms/declarations.h"
#include "algorithms/digits.h"
#include "algorithms/levels.h"
#include "schedule/all_ranks.h"
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

// Each message's behind one another, in the order in which they come.
Schedule lengths_by_digits(const Problem& problem) {
    Builder b(problem);
    std::vector<Address> at;
    for (int i = 0; i < problem.size; ++i) at.push_back(input(static_cast<std::size_t>((problem.rank + i) % problem.size) * length));
    Address next = output();
    move_by_digits(b, problem, at, [](int, int) { return length; }, [&](std::size_t bytes) { return std::exchange(next, next + bytes); },
                   [](Address) { return unknown(); });
    return b.finish();
}

const Algorithm& telling(Schedule (*schedule)(const Problem&)) {
    Algorithm& a = *new Algorithm{};
    a.operation = Operation::neighbor_alltoallv;
    a.name = "lengths";
    a.schedule = schedule;
    return a;
}

bool goes_by_digits(const Algorithm& a) { return a.operation == Operation::alltoallv && a.name == "bruck"; }

}  // namespace

const Algorithm* lengths_first(const Algorithm& a) {
    static const Algorithm &up = telling(lengths_up), &down = telling(lengths_down), &around = telling(neighbor_alltoallv_algorithms::all_write_all),
                           &by_digits = telling(lengths_by_digits);
    if (goes_by_digits(a)) return &by_digits;
    if (!a.has(property::levels)) return nullptr;
    if (a.operation == Operation::alltoallv) return &around;
    if (a.operation == Operation::gatherv) return &up;
    return a.operation == Operation::scatterv ? &down : nullptr;
}

bool lengths_travel(const Algorithm& a, const Problem& p) {
    return lengths_first(a) && (goes_by_digits(a) ? degree_of(p) < p.size : p.topology.simplified().levels() > 0);
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

// Calls take(place, owner, target) for all lengths that this rank hears.
template <class Take>
void heard_by_digits(const Problem& p, int rank, Take&& take) {
    const Digits digits(p);
    std::size_t place = 0;
    for (const auto& round : digits.rounds())
        for (const Digits::Message& m : round)
            for (const int i : m.blocks) {
                const auto [owner, target] = digits.ends_of_received(m, i, rank);
                take(place++, owner, target);
            }
}

// Without edges.
Problem collective_of(const Algorithm& a, const Problem& whole) {
    Problem p = whole;
    p.operation = Operation::neighbor_alltoallv;
    p.blocks.clear();
    p.sends.clear();
    p.passing.clear();
    p.parameters = {};
    if (goes_by_digits(a)) p.parameters.degree = whole.parameters.degree;
    return p;
}

}  // namespace

std::vector<int> told_lengths(const Algorithm& a, const Problem& p) {
    if (p.operation != Operation::alltoallv) return Stages(p).order();
    if (goes_by_digits(a)) {
        std::vector<int> order(static_cast<std::size_t>(p.size));
        std::iota(order.begin(), order.end(), 0);
        return order;
    }
    const DomainLanes lanes(p);
    std::vector<int> order(static_cast<std::size_t>(lanes.exist() ? p.size : 0));
    for (std::size_t r = 0; r < order.size(); ++r) order[lanes.place(lanes.domain(static_cast<int>(r)), lanes.lane(static_cast<int>(r)))] = static_cast<int>(r);
    return order;
}

std::size_t places_of_lengths(const Algorithm& a, const Problem& p) {
    if (!goes_by_digits(a)) return static_cast<std::size_t>(p.size);
    std::size_t places = 0;
    heard_by_digits(p, p.rank, [&](std::size_t, int, int) { ++places; });
    return places;
}

std::vector<Awaited> awaited_lengths(const Algorithm& a, const Problem& p) {
    std::vector<Awaited> result;
    if (goes_by_digits(a)) {
        heard_by_digits(p, p.rank, [&](std::size_t place, int owner, int target) {
            if (target != p.rank) result.push_back({place, owner, target});
        });
        return result;
    }
    const std::vector<int> order = told_lengths(a, p);
    if (p.operation == Operation::alltoallv) {
        // At the place of a lane and a domain: what this domain's rank in that lane has for this lane's rank in that domain.
        const DomainLanes lanes(p);
        for (std::size_t i = 0; i < order.size(); ++i)
            if (const int lane = lanes.lane(order[i]), domain = lanes.domain(order[i]); lane != lanes.own_lane())
                result.push_back({i, lanes.rank(lanes.own_domain(), lane), lanes.rank(domain, lanes.own_lane())});
        return result;
    }
    const std::vector<int> theirs = Stages(p).stands_for(p.rank);
    for (std::size_t i = 0; i < order.size() && p.rank != p.root; ++i)
        if (const int r = order[i]; r != p.rank && std::ranges::find(theirs, r) != theirs.end())
            result.push_back(p.operation == Operation::gatherv ? Awaited{i, r, p.root} : Awaited{i, p.root, r});
    return result;
}

std::size_t most_told(const Algorithm& a, int ranks, int nodes, int near) {
    // A message takes whole lines; of one or two lengths it needs no staging.
    constexpr std::size_t line = 64, of_three = 22;
    const auto size = static_cast<std::size_t>(ranks), on_node = static_cast<std::size_t>(near);
    if (goes_by_digits(a)) {
        // One message to each of some ranks; to base 2 they are the longest, and together, too.
        const std::size_t lengths = size * std::min(static_cast<std::size_t>(std::bit_width(size - 1)), on_node - 1) / 2;
        return std::min(of_three * lengths, length * lengths + (line - length) * (on_node - 1));
    }
    // In an alltoallv each rank of a node tells each other one a length for each node.
    return on_node * std::max<std::size_t>(of_three, (length * static_cast<std::size_t>(nodes) + line - 1) / line * line * (nodes > 1));
}

Problem lengths_of(const Algorithm& a, const Problem& whole) {
    Problem p = collective_of(a, whole);
    const bool from_root = whole.operation == Operation::scatterv;
    if (goes_by_digits(a)) {
        for (int r = 0; r < p.size; ++r)
            heard_by_digits(p, r, [&](std::size_t place, int owner, int target) {
                p.edges.push_back({.from = owner, .to = r, .bytes = length, .sent = static_cast<std::size_t>(target) * length, .taken = place * length});
            });
        return p;
    }
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

Problem own_lengths_of(const Algorithm& a, const Problem& known) {
    return goes_by_digits(a) ? collective_of(a, known) : problem_at(lengths_of(a, known), known.rank);
}

ByLength::ByLength(const Problem& problem) : short_blocks(problem), long_blocks_(problem) {
    const std::size_t minimum = straight_from(problem);
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

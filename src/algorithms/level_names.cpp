#include "algorithms/level_names.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace fanlight {
namespace {

constexpr int bits = 16;
constexpr std::size_t most = 64 / bits;

// What can run on a level: where no rank knows all lengths, nothing that reads, for which places must be known.
bool is_for_levels(const Algorithm& a) {
    return !a.has(property::levels) && a.operation != Operation::alltoallv && (a.has(property::piecewise) || !lengths_are_unknown(a.operation));
}

// What runs inside the domains, up, down or among all, and between the outermost ones.  Allgather's blocks go up and
// down in place, which other algorithms than its own do not stand.
struct Parts {
    std::vector<Operation> inside;
    Operation outside;
};
Parts parts_of(Operation o) {
    using enum Operation;
    switch (o) {
        case barrier: return {{barrier, reduce, bcast}, barrier};
        case allreduce: return {{allreduce, reduce, bcast}, allreduce};
        case scan:
        case exscan: return {{bcast}, exscan};
        case allgather:
        case allgatherv: return {{}, allgatherv};
        case reduce_scatter:
        case reduce_scatter_block: return {{reduce, scatter}, reduce_scatter};
        default: return {{o}, o};
    }
}

std::uint64_t number(const Algorithm& a) { return static_cast<std::uint64_t>(&a - algorithms().data() + 1); }

const Algorithm* find(std::span<const Operation> operations, std::string_view name) {
    for (const Operation o : operations)
        if (const Algorithm* a = find_algorithm(o, name); a && is_for_levels(*a)) return a;
    return nullptr;
}

std::string names_of(std::span<const Operation> operations) {
    std::vector<std::string_view> names;
    for (const Operation o : operations)
        for (const Algorithm& a : algorithms())
            if (a.operation == o && is_for_levels(a) && std::ranges::find(names, a.name) == names.end()) names.push_back(a.name);
    std::string text;
    for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

}  // namespace

std::uint64_t level_names(Operation operation, std::span<const std::string_view> names) {
    if (names.size() > most) throw std::invalid_argument("by-levels takes the names of " + std::to_string(most) + " algorithms at most");
    if (operation == Operation::alltoallv && !names.empty()) throw std::invalid_argument("by-levels of alltoallv takes no names: its lanes are its own");
    const Parts parts = parts_of(operation);
    std::uint64_t result = 0;
    const Algorithm* innermost = nullptr;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool outside = i + 1 == names.size();
        const std::span<const Operation> operations = outside ? std::span(&parts.outside, 1) : std::span<const Operation>(parts.inside);
        const Algorithm* a = find(operations, names[i]);
        if (!a && operations.empty())
            throw std::invalid_argument("inside the domains " + std::string(to_string(operation)) + " has no other algorithm than by-levels' own; name one");
        if (!a)
            throw std::invalid_argument("unknown algorithm '" + std::string(names[i]) + "' " + (outside ? "between the outermost domains of " : "inside the domains of ") +
                                        std::string(to_string(operation)) + "; there are " + names_of(operations));
        if (!innermost) innermost = a;
        if (!outside && (a->operation == operation) != (innermost->operation == operation))
            throw std::invalid_argument("by-levels: on each level inside either everybody takes part (" + names_of({&operation, 1}) + ") or one rank of each domain");
        result |= number(*a) << bits * i;
    }
    return result;
}

std::vector<std::string_view> names_of_levels(std::uint64_t names) {
    std::vector<std::string_view> result;
    for (; names; names >>= bits) result.push_back(algorithms()[(names & ((1u << bits) - 1)) - 1].name);
    return result;
}

const Algorithm* named_for_stage(std::uint64_t names, std::size_t stage, std::size_t last) {
    std::size_t count = 0;
    while (count < most && names >> bits * count) ++count;
    if (count == 0 || (count == 1 && stage != last)) return nullptr;
    const std::size_t i = stage == last ? count - 1 : std::min(stage, count - 2);
    return &algorithms()[(names >> bits * i & ((1u << bits) - 1)) - 1];
}

std::string_view text_of(const Algorithm& algorithm, std::uint64_t names) {
    if (!names) return algorithm.name;
    static std::mutex& mutex = *new std::mutex;
    static auto& all = *new std::set<std::string>;
    std::string text(algorithm.name);
    char before = '(';
    for (const std::string_view name : names_of_levels(names)) text.append(1, std::exchange(before, ',')).append(name);
    const std::scoped_lock lock(mutex);
    return *all.insert(text + ')').first;
}

OnLevels by_levels(const Algorithm& between) {
    const Parts parts = parts_of(between.operation);
    const Algorithm* named = find(std::span(&parts.outside, 1), between.name);
    return {find_algorithm(between.operation, "by-levels"), named ? number(*named) : 0};
}

// The blocks of an alltoall travel in lanes by levels as well.
OnLevels in_lanes(const Algorithm& between) {
    OnLevels result = by_levels(between);
    if (const Algorithm* lanes = find_algorithm(between.operation, "multi-lane")) result.algorithm = lanes;
    return result;
}

bool goes_by_levels(const Problem& p, const Domains& domains) {
    // Each block of an alltoall would move once more; lengths that are not known would travel first.
    if (domains.count() == 1 || p.operation == Operation::alltoall || lengths_are_unknown(p.operation)) return false;
    return find_algorithm(p.operation, "by-levels") && (!in_order(p) || domains.blocked());
}

bool goes_in_lanes(const Problem& p, const Domains& domains) {
    if (domains.count() == 1 || domains.members(0).size() == 1 || !domains.even()) return false;
    return p.operation == Operation::alltoall || (find_algorithm(p.operation, "multi-lane") && (!reduces(p.operation) || p.commutative));
}

bool everybody_meets(const Problem& p) {
    if (p.operation != Operation::allreduce && p.operation != Operation::barrier) return false;
    const Algorithm* innermost = named_for_stage(p.parameters.levels, 0, 1);
    return innermost && innermost->operation == p.operation;
}

}  // namespace fanlight

#include "algorithms/level_names.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace fanlight {
namespace {

constexpr int bits = 16;
constexpr std::size_t most = 64 / bits;

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
        case exscan: return {{reduce, bcast}, exscan};
        case allgather:
        case allgatherv: return {{}, allgatherv};
        case reduce_scatter:
        case reduce_scatter_block: return {{reduce, scatter}, reduce_scatter};
        default: return {{o}, o};
    }
}

const Algorithm* find(std::span<const Operation> operations, std::string_view name) {
    for (const Operation o : operations)
        if (const Algorithm* a = find_algorithm(o, name); a && !a->levels) return a;
    return nullptr;
}

std::string names_of(std::span<const Operation> operations) {
    std::vector<std::string_view> names;
    for (const Operation o : operations)
        for (const Algorithm& a : algorithms())
            if (a.operation == o && !a.levels && std::ranges::find(names, a.name) == names.end()) names.push_back(a.name);
    std::string text;
    for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

}  // namespace

std::uint64_t level_names(Operation operation, std::span<const std::string_view> names) {
    if (names.size() > most) throw std::invalid_argument("by-levels takes the names of " + std::to_string(most) + " algorithms at most");
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
        result |= static_cast<std::uint64_t>(a - algorithms().data() + 1) << bits * i;
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

bool everybody_meets(const Problem& p) {
    if (p.operation != Operation::allreduce && p.operation != Operation::barrier) return false;
    const Algorithm* innermost = named_for_stage(p.parameters.levels, 0, 1);
    return innermost && innermost->operation == p.operation;
}

}  // namespace fanlight

#include "schedule/problem.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

namespace fanlight {
namespace {

namespace property {
enum : unsigned { none = 0, root = 1, reduces = 2, prefix = 4, own_lengths = 8 };
}

struct Row {
    Family family;
    unsigned properties;
};

constexpr Row rows[] = {
#define OPERATION(name, family, properties, description) \
    {Family::family, [] { using namespace property; return unsigned{properties}; }()},
#include "schedule/operations.def"
#undef OPERATION
};

std::size_t index_of(Operation operation) {
    const auto index = static_cast<std::size_t>(operation);
    if (index >= std::size(rows)) throw std::invalid_argument("there is no operation number " + std::to_string(index));
    return index;
}

bool has(Operation o, unsigned property) { return (rows[index_of(o)].properties & property) != 0; }

std::string with_dashes(std::string_view name) {
    std::string result(name);
    for (char& c : result)
        if (c == '_') c = '-';
    return result;
}

// As users write them, with '-'.
const auto& names() {
    static const std::array all{
#define OPERATION(name, family, properties, description) with_dashes(#name),
#include "schedule/operations.def"
#undef OPERATION
    };
    return all;
}

}  // namespace

std::string_view to_string(Operation operation) { return names()[index_of(operation)]; }

Operation operation_from(std::string_view name) {
    std::string wanted = with_dashes(name), known;
    std::ranges::transform(wanted, wanted.begin(), [](unsigned char c) { return std::tolower(c); });
    if (wanted.starts_with("mpi-")) wanted.erase(0, 4);
    for (std::size_t i = 0; i < names().size(); ++i) {
        if (names()[i] == wanted) return static_cast<Operation>(i);
        known += (i == 0 ? "" : ", ") + names()[i];
    }
    throw std::invalid_argument("there is no operation '" + std::string(name) +
                                "'; the operations are: " + known);
}

Family family_of(Operation operation) { return rows[index_of(operation)].family; }

bool reduces(Operation o) { return has(o, property::reduces); }
bool is_prefix(Operation o) { return has(o, property::prefix); }
bool has_root(Operation o) { return has(o, property::root); }
bool lengths_are_unknown(Operation o) { return has(o, property::own_lengths); }
bool length_is_known(Operation o, int ranks) { return !lengths_are_unknown(o) || ranks == 2; }
bool knows_all_lengths(Operation o) { return family_of(o) == Family::blocks_v && !lengths_are_unknown(o); }

bool gives_the_same_to_several(Operation operation) {
    return family_of(operation) == Family::vector || operation == Operation::allgather || operation == Operation::allgatherv;
}

bool in_order(const Problem& p) { return is_prefix(p.operation) || (reduces(p.operation) && !p.commutative); }

std::size_t length_between(const Problem& p, int from, int to) {
    if (from == p.rank) return p.send(to).bytes;
    if (to == p.rank) return p.block(from).bytes;
    const auto ends = [](const Passing& x) { return std::pair(x.from, x.to); };
    const auto found = std::ranges::lower_bound(p.passing, std::pair(from, to), {}, ends);
    if (found == p.passing.end() || ends(*found) != std::pair(from, to)) throw std::logic_error("the length of a block that is passed on is not known");
    return found->bytes;
}

std::size_t operation_count() { return std::size(rows); }

}  // namespace fanlight

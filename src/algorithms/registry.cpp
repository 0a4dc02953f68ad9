#include "algorithms/registry.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <iterator>
#include <vector>

#include "algorithms/declarations.h"
#include "algorithms/plan_files.h"

namespace fanlight {
namespace {

// What a row may name beside properties.
namespace parameter {
enum Index : unsigned {
#define PARAMETER(name, type, description) name##_index,
#include "schedule/parameters.def"
#undef PARAMETER
};
constexpr unsigned none = 0;
#define PARAMETER(name, type, description) constexpr unsigned name = 1u << name##_index;
#include "schedule/parameters.def"
#undef PARAMETER
constexpr std::string_view names[] = {
#define PARAMETER(name, type, description) #name,
#include "schedule/parameters.def"
#undef PARAMETER
};
}  // namespace parameter

std::string as_users_write(std::string_view name) {
    std::string result(name);
    std::replace(result.begin(), result.end(), '_', '-');
    return result;
}

std::vector<std::string_view> names_of(unsigned parameters, Operation operation) {
    // The executor cuts whatever has data, or copies it once.
    if (family_of(operation) != Family::signal) parameters |= parameter::piece | parameter::once;
    std::vector<std::string_view> result;
    for (unsigned i = 0; i < std::size(parameter::names); ++i)
        if ((parameters >> i & 1u) != 0) result.push_back(parameter::names[i]);
    return result;
}

// A row's name is an identifier; users write '-' where it has '_'.
std::string_view name_of(std::string_view row) {
    static std::deque<std::string>& all = *new std::deque<std::string>;
    return all.emplace_back(as_users_write(row));
}

const std::vector<Algorithm>& make_catalogue() {
    return *new std::vector<Algorithm>{
#define ALGORITHM(operation, name, properties, parameters, description, paper) \
    {Operation::operation, name_of(#name), operation##_algorithms::name, \
     [] { using namespace property; return unsigned{properties}; }(),           \
     names_of([] { using namespace parameter; return unsigned{parameters}; }(), Operation::operation), description, paper},
#define SHARED(operation, name, with, ...) ALGORITHM(operation, name, __VA_ARGS__)
#include "algorithms/registry.def"
#undef SHARED
#undef ALGORITHM
    };
}

}  // namespace

bool Algorithm::takes(std::string_view parameter) const {
    return std::find(parameters.begin(), parameters.end(), parameter) != parameters.end();
}

std::vector<int> neediest(const Problem& p) {
    std::vector<int> result;
    const auto add = [&](int rank) {
        if (std::ranges::find(result, rank) == result.end()) result.push_back(rank);
    };
    if (!p.blocks.empty()) {
        const auto [shortest, longest] = std::ranges::minmax_element(p.blocks, {}, &Block::bytes);
        add(static_cast<int>(shortest - p.blocks.begin()));
        add(static_cast<int>(longest - p.blocks.begin()));
    }
    for (const int rank : {0, p.root, (p.root + 1) % p.size, p.size - 1}) add(rank);
    return result;
}

std::span<const Algorithm> algorithms() {
    // Never destroyed: collectives may run while static objects are.
    static const std::vector<Algorithm>& catalogue = make_catalogue();
    return catalogue;
}

const Algorithm* find_algorithm(Operation operation, std::string_view name) {
    const std::string wanted = as_users_write(name);
    for (const Algorithm& algorithm : algorithms())
        if (algorithm.operation == operation && algorithm.name == wanted) return &algorithm;
    return find_algorithm_of_file(operation, name);
}

std::string restriction(const Algorithm& algorithm, const Problem& problem) {
    const auto name = [&] { return std::string(to_string(algorithm.operation)) + "/" + std::string(algorithm.name); };
    if (algorithm.operation != problem.operation)
        return name() + " is no algorithm for " + std::string(to_string(problem.operation));
    if (algorithm.has(property::power_of_two) && !std::has_single_bit(static_cast<unsigned>(problem.size)))
        return name() + " needs a power of two of ranks, and there are " +
               std::to_string(problem.size);
    if (algorithm.has(property::even) && problem.size > 1 && problem.size % 2 != 0)
        return name() + " needs an even number of ranks, and there are " + std::to_string(problem.size);
    if (algorithm.has(property::commutative) && !problem.commutative)
        return name() + " needs an operator that commutes";
    return algorithm.plan ? restriction_of_file(algorithm.plan, problem) : std::string();
}

}  // namespace fanlight

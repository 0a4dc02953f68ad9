#include "algorithms/registry.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "algorithms/declarations.h"
#include "algorithms/plan_files.h"

namespace fanlight {
namespace {

// What a row may name, each in a space of its own.
namespace property {
enum : unsigned { none = 0, power_of_two = 1, even = 2, commutative = 4, pipelined = 8, piecewise = 16, levels = 32, alike = 64 };
}
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

// A row's name is an identifier; users write '-' where it has '_'.
struct Row {
    Operation operation;
    std::string name;
    Schedule (*schedule)(const Problem&);
    unsigned properties;
    unsigned parameters;
    std::string_view description;
    std::string_view paper;
};

std::string as_users_write(std::string_view name) {
    std::string result(name);
    std::replace(result.begin(), result.end(), '_', '-');
    return result;
}

const std::vector<Row>& rows() {
    static const std::vector<Row> all = {
#define ALGORITHM(operation, name, properties, parameters, description, paper) \
    {Operation::operation, as_users_write(#name), operation##_algorithms::name, \
     [] { using namespace property; return unsigned{properties}; }(),           \
     [] { using namespace parameter; return unsigned{parameters}; }(), description, paper},
#define SHARED(operation, name, with, ...) ALGORITHM(operation, name, __VA_ARGS__)
#include "algorithms/registry.def"
#undef SHARED
#undef ALGORITHM
    };
    return all;
}

std::vector<std::string_view> parameters_of(const Row& row) {
    // The executor cuts whatever has data, or copies it once.
    const bool has_data = family_of(row.operation) != Family::signal;
    const unsigned taken = row.parameters | (has_data ? parameter::piece | parameter::once : parameter::none);
    std::vector<std::string_view> result;
    for (unsigned i = 0; i < std::size(parameter::names); ++i)
        if ((taken >> i & 1u) != 0) result.push_back(parameter::names[i]);
    return result;
}

std::vector<Algorithm> make_catalogue() {
    std::vector<Algorithm> result;
    for (const Row& row : rows()) {
        const auto has = [&](unsigned property) { return (row.properties & property) != 0; };
        result.push_back({row.operation, row.name, row.schedule, has(property::power_of_two),
                          has(property::even), has(property::commutative),
                          has(property::pipelined), has(property::piecewise),
                          has(property::levels), has(property::alike), parameters_of(row), row.description, row.paper, 0});
    }
    return result;
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
    static const auto& catalogue = *new std::vector<Algorithm>(make_catalogue());
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
    if (algorithm.power_of_two && !std::has_single_bit(static_cast<unsigned>(problem.size)))
        return name() + " needs a power of two of ranks, and there are " +
               std::to_string(problem.size);
    if (algorithm.even && problem.size > 1 && problem.size % 2 != 0)
        return name() + " needs an even number of ranks, and there are " + std::to_string(problem.size);
    if (algorithm.commutative && !problem.commutative)
        return name() + " needs an operator that commutes";
    return algorithm.plan ? restriction_of_file(algorithm.plan, problem) : std::string();
}

}  // namespace fanlight

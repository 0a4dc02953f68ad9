#include "algorithms/registry.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "algorithms/declarations.h"

namespace fanlight {
namespace {

enum Restrictions : unsigned { none = 0, power_of_two = 1, commutative = 2 };

// A row's name is an identifier; users write '-' where it has '_'.
struct Row {
    Operation operation;
    std::string name;
    Schedule (*schedule)(const Problem&);
    unsigned restrictions;
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
#define ALGORITHM(operation, name, restrictions, description, paper)      \
    {Operation::operation, as_users_write(#name), operation##_algorithms::name, \
     restrictions, description, paper},
#include "algorithms/registry.def"
#undef ALGORITHM
    };
    return all;
}

std::vector<Algorithm> make_catalogue() {
    std::vector<Algorithm> result;
    for (const Row& row : rows())
        result.push_back({row.operation, row.name, row.schedule,
                          (row.restrictions & power_of_two) != 0,
                          (row.restrictions & commutative) != 0, row.description, row.paper});
    return result;
}

}  // namespace

std::span<const Algorithm> algorithms() {
    static const std::vector<Algorithm> catalogue = make_catalogue();
    return catalogue;
}

const Algorithm* find_algorithm(Operation operation, std::string_view name) {
    const std::string wanted = as_users_write(name);
    for (const Algorithm& algorithm : algorithms())
        if (algorithm.operation == operation && algorithm.name == wanted) return &algorithm;
    return nullptr;
}

std::string restriction(const Algorithm& algorithm, const Problem& problem) {
    const auto name = [&] { return std::string(to_string(algorithm.operation)) + "/" + std::string(algorithm.name); };
    if (algorithm.operation != problem.operation)
        return name() + " is no algorithm for " + std::string(to_string(problem.operation));
    if (algorithm.power_of_two && !std::has_single_bit(static_cast<unsigned>(problem.size)))
        return name() + " needs a power of two of ranks, and there are " +
               std::to_string(problem.size);
    if (algorithm.commutative && !problem.commutative)
        return name() + " needs an operator that commutes";
    return {};
}

}  // namespace fanlight

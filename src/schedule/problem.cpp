#include "schedule/problem.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace fanlight {
namespace {

struct Row {
    std::string name;  // as users write it, with '-'
    Family family;
};

std::string with_dashes(std::string_view name) {
    std::string result(name);
    for (char& c : result)
        if (c == '_') c = '-';
    return result;
}

const auto& rows() {
    static const std::array table{
#define OPERATION(name, family, description) Row{with_dashes(#name), Family::family},
#include "schedule/operations.def"
#undef OPERATION
    };
    return table;
}

const Row& row_of(Operation operation) {
    const auto index = static_cast<std::size_t>(operation);
    if (index >= rows().size())
        throw std::invalid_argument("there is no operation number " + std::to_string(index));
    return rows()[index];
}

}  // namespace

std::string_view to_string(Operation operation) { return row_of(operation).name; }

Operation operation_from(std::string_view name) {
    const std::string wanted = with_dashes(name);
    std::string known;
    for (std::size_t i = 0; i < rows().size(); ++i) {
        if (rows()[i].name == wanted) return static_cast<Operation>(i);
        known += (i == 0 ? "" : ", ") + rows()[i].name;
    }
    throw std::invalid_argument("there is no operation '" + std::string(name) +
                                "'; the operations are: " + known);
}

Family family_of(Operation operation) { return row_of(operation).family; }

bool reduces(Operation operation) {
    switch (operation) {
        case Operation::reduce:
        case Operation::allreduce:
        case Operation::scan:
        case Operation::exscan:
        case Operation::reduce_scatter_block:
        case Operation::reduce_scatter:
            return true;
        default:
            return false;
    }
}

bool lengths_are_unknown(Operation o) {
    return family_of(o) == Family::neighbors || (family_of(o) == Family::blocks_v && o != Operation::allgatherv && o != Operation::reduce_scatter);
}

bool gives_the_same_to_several(Operation operation) {
    return family_of(operation) == Family::vector || operation == Operation::allgather || operation == Operation::allgatherv;
}

bool has_root(Operation operation) {
    switch (operation) {
        case Operation::bcast:
        case Operation::reduce:
        case Operation::gather:
        case Operation::gatherv:
        case Operation::scatter:
        case Operation::scatterv:
            return true;
        default:
            return false;
    }
}

std::size_t length_between(const Problem& p, int from, int to) {
    if (from == p.rank) return p.send(to).bytes;
    if (to == p.rank) return p.block(from).bytes;
    const auto ends = [](const Passing& x) { return std::pair(x.from, x.to); };
    const auto found = std::ranges::lower_bound(p.passing, std::pair(from, to), {}, ends);
    if (found == p.passing.end() || ends(*found) != std::pair(from, to)) throw std::logic_error("the length of a block that is passed on is not known");
    return found->bytes;
}

std::size_t operation_count() { return rows().size(); }

}  // namespace fanlight

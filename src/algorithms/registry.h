// The catalogue of algorithms: one row of registry.def each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

// Of an algorithm: one, or several with |.
namespace property {
enum : unsigned {
    none = 0,
    power_of_two = 1,  // works for 1, 2, 4, 8 ... ranks only
    even = 2,          // works for 1 or an even number of ranks only
    commutative = 4,   // needs an operator that commutes
    pipelined = 8,     // long messages run piece by piece even where nothing is staged: what
                       // a rank passes on is still in its cache, and the ranks overlap
    piecewise = 16,    // what is long is put, and may be cut into pieces by its two ends alone:
                       // the ranks need to know no lengths but their own
    levels = 32,       // its schedule depends on the topology
    alike = 64,        // no rank needs more of the group's memory than the neediest (below): where ranks are
                       // many the planner asks these alone
};
}

struct Algorithm {
    Operation operation;
    std::string_view name;  // as users write it: "pruned-ring"; file and function: pruned_ring
    Schedule (*schedule)(const Problem&);
    unsigned properties;
    std::vector<std::string_view> parameters;  // that it takes: "degree", "piece" ...
    std::string_view description;
    std::string_view paper;
    std::uint32_t plan = 0; // not of the catalogue: a file's number (plan_files.h), which Parameters::plan has as well

    bool has(unsigned property) const { return (properties & property) != 0; }
    bool takes(std::string_view parameter) const;
};

std::span<const Algorithm> algorithms();
// In the catalogue, or a file that has been read.  Null if there is none; '_' and '-' are the same in a name.
const Algorithm* find_algorithm(Operation, std::string_view name);
// Rank 0, the root, the rank behind it and the last one; and the ranks of the shortest and of the longest block: a rank may
// stage all blocks but its own, and the block that needs the least room is one of these (property::alike).
std::vector<int> neediest(const Problem&);
// Why this algorithm cannot serve this problem; empty if it can.
std::string restriction(const Algorithm&, const Problem&);

}  // namespace fanlight

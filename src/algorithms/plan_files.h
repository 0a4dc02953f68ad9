// Algorithms that are read from files while the program runs: saved plans (schedule/saved_plan.h).
//
//     allreduce:file(mine.plan)
#pragma once

#include <cstdint>
#include <string_view>

#include "algorithms/registry.h"

namespace fanlight {

// A file is read once; the algorithm lives for ever, and find_algorithm() finds it from then on by its name,
// "file(mine.plan)".  Throws std::invalid_argument that names the file where it cannot be read, is no plan, was
// changed or is for another operation.
const Algorithm& algorithm_of_file(Operation, std::string_view file);
// Null if it has not been read.
const Algorithm* find_algorithm_of_file(Operation, std::string_view name);
// By Algorithm::plan.
std::string restriction_of_file(std::uint32_t plan, const Problem&);
std::string_view hash_of_file(std::uint32_t plan);

}  // namespace fanlight

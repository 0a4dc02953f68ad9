// A test for each algorithm of the catalogue: how it is named.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "algorithms/registry.h"

namespace fanlight {

inline void PrintTo(const Algorithm& a, std::ostream* out) { *out << to_string(a.operation) << '/' << a.name; }

inline std::string test_name(const testing::TestParamInfo<Algorithm>& info) {
    std::string name = std::string(to_string(info.param.operation)) + "_" + std::string(info.param.name);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace fanlight

#pragma once

#include <set>

#include "fanlight/dart.h"

// The global numbers of its units.
struct dart_group_struct {
    std::set<dart_unit_t> units;
};

// Declares every algorithm's function, from registry.def.
#pragma once

#include "schedule/problem.h"
#include "schedule/schedule.h"

#define ALGORITHM(operation, name, properties, parameters, description, paper) \
    namespace fanlight::operation##_algorithms {                               \
    Schedule name(const Problem&);                                             \
    }
#define SHARED(operation, name, with, properties, parameters, description, paper) \
    namespace fanlight::operation##_algorithms {                                  \
    using with##_algorithms::name;                                                \
    }
#include "algorithms/registry.def"
#undef SHARED
#undef ALGORITHM

// Local allocations, from segment 0, of which every unit has a part.
#pragma once

#include <cstddef>

#include "global/error.h"
#include "global/team.h"

namespace fanlight::global {

// bytes: of each unit, the same for all.
fanlight_code open_local_memory(Team& all, std::size_t bytes);
void close_local_memory();

}  // namespace fanlight::global

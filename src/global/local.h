// Local allocations, from segment 0, of which every unit has a part.
#pragma once

#include "global/error.h"
#include "global/team.h"

namespace fanlight::global {

fanlight_code open_local_memory(Team& all);
void close_local_memory();

}  // namespace fanlight::global

// All units of a team wait for each other.
#pragma once

#include "global/error.h"
#include "global/team.h"

namespace fanlight::global {

// Inside a node by stores and loads alone; else MPI_Barrier.  What a unit has written to global
// memory before it, all see after it.
fanlight_code barrier(Team&);

}  // namespace fanlight::global

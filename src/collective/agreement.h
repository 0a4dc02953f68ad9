// Whether the ranks of a communicator have the same settings, as far as what they do together follows from them.  Ranks
// that decide by different settings would wait for each other forever.
#pragma once

#include <cstdint>

#include "collective/mpi_header.h"
#include "collective/reason.h"
#include "collective/tuned.h"

namespace fanlight {

// By all ranks together, each in the same call: before anything else that follows from a setting.
// Reason::none, or why the communicator stays with the MPI library: also where all have FANLIGHT=0.
// What differs is said once.  `rules`: those measured here, rank 0's; set where it is Reason::none.
// `number`: random, the same on all ranks.
Reason agree_on_settings(MPI_Comm, int rank, int size, tuned::Rules& rules, std::uint64_t& number);

}  // namespace fanlight

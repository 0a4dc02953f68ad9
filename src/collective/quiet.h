// A communicator of this rank alone, whose errors are returned and not raised: for questions to
// the MPI library that may be wrong, for packing, and to let it progress.
#pragma once

#include "collective/mpi_header.h"

namespace fanlight {

// Made at the first call.
MPI_Comm quiet_communicator();
bool quiet_communicator_is_made();

// At MPI_Finalize.
void free_quiet_communicator();

}  // namespace fanlight

// A communicator of this rank alone, whose errors are returned and not raised: to ask the MPI library what may be an
// error, to pack, and to let it progress.
#pragma once

#include "collective/mpi_header.h"

namespace fanlight {

// Made at the first call.
MPI_Comm quiet_communicator();
bool quiet_communicator_is_made();

// At MPI_Finalize.
void free_quiet_communicator();

}  // namespace fanlight

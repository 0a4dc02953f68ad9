// A communicator of this rank alone, whose errors are returned and not raised: for questions to
// the MPI library that may be wrong, for packing, and to let it progress.
#pragma once

#include "collective/mpi_header.h"

namespace fanlight {

MPI_Comm quiet_communicator();

// Lets the MPI library progress on all that it has under way.
void progress();

// At MPI_Finalize.
void free_quiet_communicator();

}  // namespace fanlight

// A communicator of this rank alone, whose errors are returned and not raised: for questions to
// the MPI library that may be wrong, for packing, and to let it progress.
#pragma once

#include "collective/mpi_header.h"

namespace fanlight {

MPI_Comm quiet_communicator();

// Lets the MPI library progress on all that it has under way.
void progress();
// The same before a call that asks the MPI library once how far it is, and only where Fanlight
// serves a communicator: the calls that it serves would have made that progress.
void progress_before_test();

// At MPI_Finalize.
void free_quiet_communicator();

}  // namespace fanlight

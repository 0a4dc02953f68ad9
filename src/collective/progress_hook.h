// Lets an operation between nodes go on while its rank is inside any MPI call: a function of Fanlight's that the MPI
// library calls from its own progress.  MPICH has MPIX_Async_start for that, from version 4.3 on, and Open MPI
// opal_progress_register; other libraries have nothing like it.
#pragma once

#include "collective/mpi_header.h"

namespace fanlight::progress_hook {

// Whether this MPI library has one.
bool exists();

// When something with messages is in flight, by who may call MPI: from here on it is advanced, until nothing is.
void install();
// At MPI_Finalize.
void remove();

// Whether this thread is inside of a progress from which the library must not be made to progress again: under
// MPI_THREAD_MULTIPLE MPICH would wait there for a lock of its own.
bool inside();
// There: whether a request is over, and may be given to MPI_Test, which then makes none.
bool is_over(MPI_Request);

}  // namespace fanlight::progress_hook

// Fanlight's own errors.  They go to the communicator's error handler, as MPI's do.
#pragma once

#include <string>

#include "collective/mpi_header.h"

namespace fanlight {

// Of class MPI_ERR_OTHER.  One code, whose text (MPI_Error_string) is that of the last error.
int error_code(const std::string& text);
int raise(MPI_Comm, const std::string& text);

}  // namespace fanlight

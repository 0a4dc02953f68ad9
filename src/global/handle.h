// Operations that have been begun.  A handle is a number, so that one that is finished is known
// to be, whatever has been begun since.
#pragma once

#include <cstdint>

#include "collective/mpi_header.h"
#include "global/error.h"

namespace fanlight::global {

// segment: what must be flushed for remote completion; -1: nothing.
fanlight_handle new_handle(MPI_Request request, std::int32_t segment, int unit);

// At the end of the program's use.
void free_handles();

}  // namespace fanlight::global

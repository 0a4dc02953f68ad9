// Operations that have begun.  A handle is a number, so a finished one is recognized whatever has begun since.
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

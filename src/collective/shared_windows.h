// Windows whose memory the MPI library shares among the ranks of a node: those of MPI_Win_allocate_shared, and of
// MPI_Win_allocate where MPI_Win_shared_query says so.  A rank's own part of one is memory that its peers load from
// (memory/shared_blocks.h).
#pragma once

#include "collective/mpi_header.h"

namespace fanlight::shared_windows {

// After MPI_Win_allocate and MPI_Win_allocate_shared, by all ranks together.
void allocated(MPI_Comm, MPI_Win);
// Before MPI_Win_free, by all ranks together.
void freed(MPI_Win);

}  // namespace fanlight::shared_windows

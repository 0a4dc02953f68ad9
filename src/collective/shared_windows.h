// Windows whose memory the MPI library shares among the ranks of a node: those of MPI_Win_allocate_shared, and those of
// MPI_Win_allocate if MPI_Win_shared_query says so.  Peers load from a rank's own part (memory/shared_blocks.h).
#pragma once

#include "collective/mpi_header.h"

namespace fanlight::shared_windows {

// After MPI_Win_allocate and MPI_Win_allocate_shared, by all ranks together.
void allocated(MPI_Comm, MPI_Win);
// Before MPI_Win_free, by all ranks together.
void freed(MPI_Win);

}  // namespace fanlight::shared_windows

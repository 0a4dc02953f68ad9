// Memory that the program gets from MPI_Alloc_mem or fanlight_alloc_mem.  Large blocks lie where the other ranks of the
// node can load from (memory/arena.h).
#pragma once

#include <cstddef>

#include "collective/mpi_header.h"

namespace fanlight::blocks_of_memory {

// MPI_Alloc_mem; false: the MPI library's.
bool allocate(MPI_Aint bytes, MPI_Info, void* baseptr);
// MPI_Free_mem; false: it is not Fanlight's.
bool release(void* base) noexcept;

}  // namespace fanlight::blocks_of_memory

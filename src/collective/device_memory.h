// Buffers in the memory of a GPU, which the processor cannot read and write as its own.
//
// A communicator whose ranks may pass such buffers stays with the MPI library.  With FANLIGHT_GPU=stage CUDA's driver
// copies them to the host's memory and back, so that collectives on them work under any MPI library.
#pragma once

#include <cstddef>

#include "collective/mpi_header.h"
#include "config/config.h"

namespace fanlight::device_memory {

// Whether this process may give one to this communicator's operations, for all that is known: it has loaded a GPU's
// driver, FANLIGHT_GPU does not say that there are none, and neither does mpi_assert_memory_alloc_kinds (MPI-4.1, 11.4.3).
bool may_be_used(MPI_Comm);

inline bool is_staged() {
    static const bool staged = config().gpu == "stage";
    return staged;
}

// Whether it lies there; asked only where it would be staged.
bool has(const void* memory);
inline bool holds(const void* memory) { return is_staged() && has(memory); }

// memcpy, wherever the two are.
void copy(void* to, const void* from, std::size_t bytes);

}  // namespace fanlight::device_memory

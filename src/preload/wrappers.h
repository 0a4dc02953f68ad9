// What the generated wrappers use.
#pragma once

#include <cstdint>
#include <type_traits>

#include "collective/blocks_of_memory.h"
#include "collective/call.h"
#include "collective/finalize.h"
#include "collective/interposition.h"
#include "collective/library.h"
#include "collective/neighborhood.h"
#include "collective/operations.h"
#include "collective/progress.h"
#include "collective/requests.h"
#include "collective/shared_windows.h"
#include "fanlight/collectives.h"
#include "preload/fortran.h"
#include "preload/next.h"

namespace fanlight {

// A handle as it came in a register.
template <class Handle>
Handle handle(std::intptr_t passed) {
    if constexpr (std::is_pointer_v<Handle>) return reinterpret_cast<Handle>(passed);
    else return static_cast<Handle>(passed);
}

// The bytes of all blocks of an array of counts, for the report.
template <class C>
std::size_t bytes_of_list(int size, const void* buffer, const C* counts, MPI_Datatype datatype) {
    if (buffer == MPI_IN_PLACE || !counts) return 0;
    MPI_Count total = 0;
    for (int r = 0; r < size; ++r) total += counts[r];
    return bytes_of(buffer, total, datatype);
}
template <class C>
std::size_t bytes_of_all(MPI_Comm comm, const void* buffer, const C* counts, MPI_Datatype datatype) {
    int inter = 0, size = 0;
    mpi().Comm_test_inter(comm, &inter);
    if (inter || mpi().Comm_size(comm, &size) != MPI_SUCCESS) return 0;
    return bytes_of_list(size, buffer, counts, datatype);
}

}  // namespace fanlight

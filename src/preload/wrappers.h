// What the generated wrappers use.
#pragma once

#include <type_traits>

#include "collective/call.h"
#include "collective/finalize.h"
#include "collective/interposition.h"
#include "collective/library.h"
#include "collective/operations.h"
#include "collective/requests.h"
#include "fanlight/collectives.h"
#include "preload/fortran.h"
#include "preload/next.h"

namespace fanlight {

// The bytes of all blocks of an array of counts, for the report.
template <class C>
std::size_t bytes_of_all(MPI_Comm comm, const void* buffer, const C* counts, MPI_Datatype datatype) {
    if (buffer == MPI_IN_PLACE || !counts) return 0;
    int inter = 0, size = 0;
    mpi().Comm_test_inter(comm, &inter);
    if (inter || mpi().Comm_size(comm, &size) != MPI_SUCCESS) return 0;
    MPI_Count total = 0;
    for (int r = 0; r < size; ++r) total += counts[r];
    return bytes_of(buffer, total, datatype);
}

}  // namespace fanlight

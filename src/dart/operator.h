// DART's operators.
#pragma once

#include <cstddef>

#include "collective/mpi_header.h"
#include "dart/status.h"

namespace fanlight::dart {

// What MPI reduces so many elements with; op is MPI_OP_NULL where that cannot be.
struct Reduction {
    MPI_Op op = MPI_OP_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::size_t count = 0;
};
Reduction reduction(dart_operation_t, dart_datatype_t, std::size_t nelem);

// Of an atomic operation; false for MINMAX and the program's own, for which there is none.
bool atomic_operator(dart_operation_t, fanlight_operator&);

}  // namespace fanlight::dart

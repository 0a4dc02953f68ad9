// The mpi.h of the ABI that this is compiled for (see src/preload/CMakeLists.txt).
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#if defined(FANLIGHT_STANDARD_ABI)
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

#if defined(OPEN_MPI) && defined(FANLIGHT_MPI_AT_RUN_TIME)
#include "collective/openmpi_handles.h"
#endif

// Open MPI has persistent collectives before the rest of MPI-4.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define FANLIGHT_PERSISTENT 1
#else
#define FANLIGHT_PERSISTENT 0
#endif

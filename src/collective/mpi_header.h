// The mpi.h of the ABI that this is compiled for (see src/preload/CMakeLists.txt).
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#if defined(FANLIGHT_STANDARD_ABI)
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

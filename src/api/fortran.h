// Fortran's arguments as C's, for the procedures of the module `fanlight`.
#pragma once

#include <vector>

#include "collective/library.h"
#include "collective/mpi_header.h"
#include "fanlight/collectives.h"
#include "preload/fortran.h"

namespace fanlight::api {

// MPI_IN_PLACE and MPI_BOTTOM are variables of Fortran's, known by their addresses.
void* c_buffer(const void*);
// Until the program ends: Open MPI reads them when the operation is over, or its request is freed.
const std::vector<MPI_Datatype>& kept(std::vector<MPI_Datatype>);

}  // namespace fanlight::api

using namespace fanlight::api;

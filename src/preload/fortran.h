// Fortran's arguments as C's.  Open MPI needs all of them, because its Fortran entry points call PMPI_Xxx, past the C
// wrappers.  (Those of MPICH and Intel MPI call MPI_Xxx, which is the C wrapper.)
#pragma once

#include <vector>

#include "collective/mpi_header.h"
#include "preload/fortran_handle.h"

#if defined(OPEN_MPI)
namespace fanlight::fortran {

static_assert(sizeof(MPI_Fint) == sizeof(int), "arrays of counts are used as they are");

// MPI_BOTTOM and MPI_IN_PLACE are variables of Fortran's, known by their addresses.
void* buffer(void*);
// Of each neighbor in a neighborhood: of the targets, or the sources.
std::vector<MPI_Datatype> datatypes_of_neighbors(const MPI_Fint*, bool targets, MPI_Comm comm);

}  // namespace fanlight::fortran
#endif

namespace fanlight::fortran {

// One for each rank of the communicator (of the other group's, where there are two); none where MPI does not look at them.
std::vector<MPI_Datatype> datatypes(const MPI_Fint*, const void* buffer, MPI_Comm comm);
// As requests::finish_in_library and hand_over.
void each(void (*)(int, const MPI_Request[]), MPI_Fint count, const MPI_Fint*);
bool start(MPI_Fint count, const MPI_Fint*, MPI_Fint* error);  // requests::start
// requests::wait_all for MPICH's mpi_f08, whose statuses are C's.
int wait_all(const MPI_Fint* count, MPI_Fint* all, void* statuses);
bool kept(MPI_Fint* op);                                       // requests::kept

}  // namespace fanlight::fortran

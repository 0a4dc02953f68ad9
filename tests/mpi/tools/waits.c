// A profiling tool above MPI_Wait.
#include <mpi.h>

int MPI_Wait(MPI_Request *request, MPI_Status *status) { return PMPI_Wait(request, status); }

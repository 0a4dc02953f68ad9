// The mpi_f08 entry points of MPICH and its descendants that have no buffer: they call PMPI_Xxx, past the C wrappers.
// (Those with a buffer call MPI_Xxx; seen in MPICH 4.0 and Intel MPI 2021.)  Fanlight must not serve a barrier for ranks
// that call it from C while the MPI library serves it for ranks that call it from Fortran.
#include "collective/interposition.h"
#include "collective/mpi_header.h"
#include "fanlight/collectives.h"
#include "preload/fortran_handle.h"
#include "preload/next.h"

#if !defined(OPEN_MPI)

using fanlight::fortran::from_c;
using fanlight::fortran::to_c;

#pragma GCC visibility push(default)
extern "C" {

// ierror is optional.
void mpi_barrier_f08_(const int* comm, int* ierror) {
    static constinit fanlight::Next<decltype(&mpi_barrier_f08_)> next("mpi_barrier_f08_");
    if (!fanlight::takes_collectives()) return next.get()(comm, ierror);
    const int error = fanlight_barrier(to_c<MPI_Comm>("Comm", *comm));
    if (ierror) *ierror = error;
}

void mpi_ibarrier_f08_(const int* comm, int* request, int* ierror) {
    static constinit fanlight::Next<decltype(&mpi_ibarrier_f08_)> next("mpi_ibarrier_f08_");
    if (!fanlight::takes_collectives()) return next.get()(comm, request, ierror);
    MPI_Request started = MPI_REQUEST_NULL;
    const int error = fanlight_ibarrier(to_c<MPI_Comm>("Comm", *comm), &started);
    *request = from_c("Request", started);
    if (ierror) *ierror = error;
}

#if FANLIGHT_PERSISTENT
void mpi_barrier_init_f08_(const int* comm, const int* info, int* request, int* ierror) {
    static constinit fanlight::Next<decltype(&mpi_barrier_init_f08_)> next("mpi_barrier_init_f08_");
    if (!fanlight::takes_collectives()) return next.get()(comm, info, request, ierror);
    MPI_Request initialized = MPI_REQUEST_NULL;
    const int error = fanlight_barrier_init(to_c<MPI_Comm>("Comm", *comm), MPI_INFO_NULL, &initialized);
    *request = from_c("Request", initialized);
    if (ierror) *ierror = error;
}
#endif

void mpi_finalize_f08_(int* ierror) {
    static constinit fanlight::Next<decltype(&mpi_finalize_f08_)> next("mpi_finalize_f08_");
    if (!fanlight::takes_waits()) return next.get()(ierror);
    const int error = MPI_Finalize();
    if (ierror) *ierror = error;
}

}  // extern "C"
#pragma GCC visibility pop

#endif

// MPI_Session_init, in C and in Fortran.  Not in signatures.txt: mpi.h may be older than the MPI library of the program.
#include <cstdint>

#include "collective/communicator.h"
#include "preload/next.h"

#pragma GCC visibility push(default)
extern "C" {

int enter_session_init(std::intptr_t info, std::intptr_t errhandler, void* session) __asm__("MPI_Session_init");
int enter_session_init(std::intptr_t info, std::intptr_t errhandler, void* session) {
    static constinit fanlight::Next<decltype(&enter_session_init)> next("MPI_Session_init");
    fanlight::communicators::sessions = true;
    return next.get()(info, errhandler, session);
}

// Those that call PMPI_Session_init: all of Open MPI's, and mpi_f08's of MPICH.
#define FORTRAN(name)                                                            \
    void name(void* info, void* errhandler, void* session, void* ierror) {       \
        static constinit fanlight::Next<decltype(&name)> next(#name);            \
        fanlight::communicators::sessions = true;                                \
        next.get()(info, errhandler, session, ierror);                           \
    }
FORTRAN(mpi_session_init_f08_)
#if defined(OPEN_MPI)
FORTRAN(mpi_session_init)
FORTRAN(mpi_session_init_)
FORTRAN(mpi_session_init__)
FORTRAN(MPI_SESSION_INIT)
#endif

}  // extern "C"
#pragma GCC visibility pop

// MPI_Session_init and MPI_Session_finalize, in C and in Fortran: with the last session what was made of it has gone.
// Not in signatures.txt: mpi.h may be older than the MPI library of the program.
#include <cstdint>

#include "collective/communicator.h"
#include "preload/next.h"

namespace {
// Not of one that was opened past us.
void one_less() {
    for (int open = fanlight::communicators::sessions; open > 0 && !fanlight::communicators::sessions.compare_exchange_weak(open, open - 1);) {}
}
}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int enter_session_init(std::intptr_t info, std::intptr_t errhandler, void* session) __asm__("MPI_Session_init");
int enter_session_init(std::intptr_t info, std::intptr_t errhandler, void* session) {
    static constinit fanlight::Next<decltype(&enter_session_init)> next("MPI_Session_init");
    ++fanlight::communicators::sessions;
    const int error = next.get()(info, errhandler, session);
    if (error != MPI_SUCCESS) one_less();
    return error;
}

int enter_session_finalize(void* session) __asm__("MPI_Session_finalize");
int enter_session_finalize(void* session) {
    static constinit fanlight::Next<decltype(&enter_session_finalize)> next("MPI_Session_finalize");
    const int error = next.get()(session);
    if (error == MPI_SUCCESS) one_less();
    return error;
}

// Those that call PMPI_Session_xxx: all of Open MPI's, and mpi_f08's of MPICH.  (An error, which ends the program unless it
// says otherwise, leaves one too many here: then Fanlight serves MPI_COMM_WORLD alone.)
#define FORTRAN(init, finalize)                                              \
    void init(void* info, void* errhandler, void* session, void* ierror) {   \
        static constinit fanlight::Next<decltype(&init)> next(#init);        \
        ++fanlight::communicators::sessions;                                 \
        next.get()(info, errhandler, session, ierror);                       \
    }                                                                        \
    void finalize(void* session, void* ierror) {                             \
        static constinit fanlight::Next<decltype(&finalize)> next(#finalize); \
        next.get()(session, ierror);                                         \
        if (!ierror || *static_cast<int*>(ierror) == MPI_SUCCESS) one_less(); \
    }
FORTRAN(mpi_session_init_f08_, mpi_session_finalize_f08_)
#if defined(OPEN_MPI)
FORTRAN(mpi_session_init_, mpi_session_finalize_)
FORTRAN(mpi_session_init__, mpi_session_finalize__)
#endif

}  // extern "C"
#pragma GCC visibility pop

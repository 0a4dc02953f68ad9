#include "collective/quiet.h"

#include <mutex>

#include "collective/library.h"

namespace fanlight {

namespace {

struct Quiet {
    std::mutex mutex;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request pending = MPI_REQUEST_NULL;
};
Quiet& quiet() {
    static Quiet& q = *new Quiet;
    return q;
}

MPI_Comm made(Quiet& q) {
    if (q.comm == MPI_COMM_NULL) {
        // Not MPI_Comm_dup: it would call the copy functions of the program's attributes.
        mpi().Comm_split(MPI_COMM_SELF, 0, 0, &q.comm);
        mpi().Comm_set_errhandler(q.comm, MPI_ERRORS_RETURN);
    }
    return q.comm;
}

}  // namespace

MPI_Comm quiet_communicator() {
    Quiet& q = quiet();
    const std::scoped_lock lock(q.mutex);
    return made(q);
}

// MPI_Test of a receive that nobody ever answers: it looks at everything.  MPI_Iprobe does not:
// in MPICH a probe of a communicator of one rank looks at what this rank has sent itself, and
// the others' one-sided operations wait for ever (MPICH 5.0.2; MPI_Win_lock_all).
void progress() {
    Quiet& q = quiet();
    // Of several threads that wait one is enough.
    const std::unique_lock lock(q.mutex, std::try_to_lock);
    if (!lock) return;
    if (q.pending == MPI_REQUEST_NULL) mpi().Irecv(nullptr, 0, MPI_BYTE, 0, 0, made(q), &q.pending);
    int flag = 0;
    mpi().Test(&q.pending, &flag, MPI_STATUS_IGNORE);
}

void progress_before_test() {
    bool serves;
    {
        Quiet& q = quiet();
        const std::scoped_lock lock(q.mutex);
        serves = q.comm != MPI_COMM_NULL;
    }
    if (serves) progress();
}

void free_quiet_communicator() {
    Quiet& q = quiet();
    const std::scoped_lock lock(q.mutex);
    if (q.pending != MPI_REQUEST_NULL) {
        mpi().Cancel(&q.pending);
        mpi().Request_free(&q.pending);
    }
    if (q.comm != MPI_COMM_NULL) mpi().Comm_free(&q.comm);
}

}  // namespace fanlight

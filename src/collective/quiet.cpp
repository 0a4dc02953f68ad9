#include "collective/quiet.h"

#include <atomic>
#include <mutex>

#include "collective/library.h"

namespace fanlight {

namespace {

std::atomic<bool> made{false};

MPI_Comm& communicator() {
    static MPI_Comm comm = MPI_COMM_NULL;
    return comm;
}

}  // namespace

MPI_Comm quiet_communicator() {
    static std::once_flag once;
    std::call_once(once, [] {
        // Not MPI_Comm_dup: it would call the copy functions of the program's attributes.
        mpi().Comm_split(MPI_COMM_SELF, 0, 0, &communicator());
        mpi().Comm_set_errhandler(communicator(), MPI_ERRORS_RETURN);
        made = true;
    });
    return communicator();
}

bool quiet_communicator_is_made() { return made.load(std::memory_order_acquire); }

void free_quiet_communicator() {
    if (made.exchange(false)) mpi().Comm_free(&communicator());
}

}  // namespace fanlight

#include "collective/progress.h"

#include <sched.h>

#include <atomic>

#include "collective/library.h"
#include "collective/library_progress.h"
#include "collective/quiet.h"

namespace fanlight {

namespace {

std::atomic<int> windows{0};
// One thread at a time; not a lock, since the MPI library may call what calls us again.
std::atomic_flag busy = ATOMIC_FLAG_INIT;
bool receives = false;  // both under `busy`
MPI_Request never;      // a receive that nobody answers, where `receives`

LibraryProgress& library_progress() {
    static LibraryProgress& p = *new LibraryProgress(mpi_version(), find_in_mpi);
    return p;
}

}  // namespace

Polled progress() {
    Polled result;
    if (!busy.test_and_set(std::memory_order_acquire)) {
        if (!receives) {
            mpi().Irecv(nullptr, 0, MPI_BYTE, 0, 0, quiet_communicator(), &never);
            receives = true;
        }
        result = library_progress().poll([] {
            int flag = 0;
            mpi().Test(&never, &flag, MPI_STATUS_IGNORE);
        });
        busy.clear(std::memory_order_release);
    }
    result.awake = windows.load(std::memory_order_relaxed) > 0;
    return result;
}

void progress_before_test() {
    if (quiet_communicator_is_made()) progress();
}

void window_created() { windows.fetch_add(1, std::memory_order_relaxed); }
void window_freed() { windows.fetch_sub(1, std::memory_order_relaxed); }

void end_progress() {
    while (busy.test_and_set(std::memory_order_acquire)) ::sched_yield();
    if (!receives) return;
    mpi().Cancel(&never);
    mpi().Request_free(&never);
}

}  // namespace fanlight

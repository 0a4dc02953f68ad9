// What a process has once: the team of all units, where each of them runs, how to wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "collective/mpi_header.h"
#include "execute/wait.h"
#include "global/error.h"

namespace fanlight::global {

struct Place {
    int node = 0, package = -1, numa = -1, core = -1;
    int cpu = -1;  // the core's number to the system, where the unit is bound to one
    char host[64] = "";
    std::uint64_t machine = 0;  // hosts may have the same name
    // A process id means the same where the namespace's number, if it is not 0, and the machine are the same.
    std::uint64_t pid_namespace = 0;
    std::int64_t pid = 0;
};

struct Runtime {
    int users = 0;             // fanlight_init not yet undone by fanlight_exit
    bool finalizes = false;    // MPI was initialized here
    bool several_threads = false;
    MPI_Comm progress_comm = MPI_COMM_NULL;
    MPI_Request progress = MPI_REQUEST_NULL;
    std::vector<Place> places;  // of all units
    int units_on_host = 1;      // that share its cores
    int cores = 1;              // which they may really use
    std::optional<Waiter> waiter;
    std::atomic<bool> windows = false;  // other units reach memory of this one by MPI
};

// Never destroyed: static objects of the program may use it when they are.
extern Runtime& runtime;

inline bool is_up() { return runtime.users > 0; }
fanlight_code not_up();
// Lets the MPI library progress on all that it has in flight.
Polled let_progress();

// In all functions by which a unit may wait, again and again, for a change of memory that it reaches itself: MPI moves
// one-sided operations while their target is in MPI.
inline void progress_now_and_then() {
    if (!runtime.windows.load(std::memory_order_relaxed)) [[likely]] return;
    static constinit thread_local unsigned calls [[gnu::tls_model("initial-exec")]] = 0;
    if (++calls % 64 == 0) let_progress();
}
Waiter::Hooks waiting_hooks();

// Waits until ready(); `unit` of FANLIGHT_TEAM_ALL is the one waited for.
template <class Ready>
void wait_for(int unit, const char* what, Ready&& ready) {
    (*runtime.waiter)(unit, what, ready);
}

}  // namespace fanlight::global

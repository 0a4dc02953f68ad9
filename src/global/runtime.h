// What a process has once: the team of all units, where each of them runs, how to wait.
#pragma once

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
};

struct Runtime {
    int users = 0;             // fanlight_init not yet undone by fanlight_exit
    bool finalizes = false;    // MPI was initialised here
    bool several_threads = false;
    MPI_Comm progress_comm = MPI_COMM_NULL;
    MPI_Request progress = MPI_REQUEST_NULL;
    std::vector<Place> places;  // of all units
    int units_on_host = 1;      // that share its cores
    int cores = 1;              // which they may really use
    std::optional<Waiter> waiter;
};

extern Runtime runtime;

inline bool is_up() { return runtime.users > 0; }
fanlight_code not_up();
// Lets the MPI library progress on all that it has under way.
void let_progress();
Waiter::Hooks waiting_hooks();

// Waits until ready(); `unit` of FANLIGHT_TEAM_ALL is the one waited for.
template <class Ready>
void wait_for(int unit, const char* what, Ready&& ready) {
    (*runtime.waiter)(unit, what, ready);
}

}  // namespace fanlight::global

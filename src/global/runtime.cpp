#include "global/runtime.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>

#include "collective/library_progress.h"
#include "config/config.h"
#include "global/handle.h"
#include "global/local.h"
#include "global/place.h"
#include "global/segment.h"
#include "global/team.h"
#include "topology/cores.h"

namespace fanlight::global {

Runtime& runtime = *new Runtime;

fanlight_code not_up() { return fail(FANLIGHT_ERR_STATE, "not initialized: fanlight_init, or dart_init, comes first, and nothing comes after the exit"); }

namespace {
LibraryProgress& library_progress() {
    static LibraryProgress& p = *[] {
        char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        MPI_Get_library_version(version, &length);
        return new LibraryProgress(version, [](const char* symbol) { return dlsym(RTLD_DEFAULT, symbol); });
    }();
    return p;
}
}  // namespace

// Other units may want something of this one's windows at any time: it does not sleep.
Polled let_progress() {
    Polled result;
    static std::atomic_flag busy = ATOMIC_FLAG_INIT;
    if (runtime.progress != MPI_REQUEST_NULL && !busy.test_and_set(std::memory_order_acquire)) {
        result = library_progress().poll([] {
            int flag = 0;
            MPI_Test(&runtime.progress, &flag, MPI_STATUS_IGNORE);
        });
        busy.clear(std::memory_order_release);
    }
    result.awake = true;
    return result;
}

namespace {

void dead(const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

Waiter::Hooks waiting_hooks() { return {let_progress, dead, {}}; }

namespace {

// The units that share memory, by the number of the first of them; FANLIGHT_NODE_UNITS makes
// nodes of so many of a real one's.
int own_node(MPI_Comm world) {
    int rank = 0, node_rank = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Comm node;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    // By all: it may be set on some alone.
    const auto units = static_cast<int>(std::min<std::int64_t>(config().node_units, std::numeric_limits<int>::max()));
    MPI_Comm part;
    MPI_Comm_split(node, units > 0 ? node_rank / units : 0, node_rank, &part);
    int first = rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, part);
    MPI_Comm_free(&part);
    MPI_Comm_free(&node);
    return first;
}

void find_places(MPI_Comm world, int size) {
    Place own = own_place();
    own.node = own_node(world);
    runtime.places.resize(static_cast<std::size_t>(size));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, runtime.places.data(), sizeof own, MPI_BYTE, world);
    std::vector<int> firsts;
    for (const Place& p : runtime.places) firsts.push_back(p.node);
    std::ranges::sort(firsts);
    firsts.erase(std::ranges::unique(firsts).begin(), firsts.end());
    for (Place& p : runtime.places)
        p.node = static_cast<int>(std::ranges::lower_bound(firsts, p.node) - firsts.begin());
}

// Who waits must know how many share the cores, and who lives.
void prepare_waiting(int rank) {
    const Place& own = runtime.places[static_cast<std::size_t>(rank)];
    std::vector<pid_t> watched, here;
    runtime.units_on_host = 0;
    for (const Place& p : runtime.places) {
        const bool same_host = p.machine == own.machine && std::string_view(p.host) == own.host;
        const bool known = same_host && own.pid_namespace != 0 && p.pid_namespace == own.pid_namespace;
        runtime.units_on_host += same_host;
        watched.push_back(known ? static_cast<pid_t>(p.pid) : 0);
        if (known) here.push_back(watched.back());
    }
    runtime.cores = usable_cores(here);
    runtime.waiter.emplace(runtime.units_on_host, waiting_hooks(), runtime.cores);
    runtime.waiter->watch(watched, rank);
}

fanlight_code start() {
    int up = 0, level = MPI_THREAD_SINGLE;
    MPI_Initialized(&up);
    if (!up) {
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
        runtime.finalizes = true;
    } else {
        MPI_Query_thread(&level);
    }
    runtime.several_threads = level == MPI_THREAD_MULTIPLE;
    MPI_Comm world;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_SELF, 0, 0, &runtime.progress_comm);
    MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, runtime.progress_comm, &runtime.progress);
    int rank = 0, size = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    find_places(world, size);
    prepare_waiting(rank);
    const auto wanted = static_cast<std::int64_t>(config().local_memory);
    const Agreement agreed = agree_on_segment(world, FANLIGHT_TEAM_ALL, FANLIGHT_OK, wanted);
    fanlight_code error = agreed.code;
    if (error) return error;
    Team* const all = make_team(world, FANLIGHT_TEAM_ALL, agreed.segment, error);
    return all ? open_local_memory(*all, static_cast<std::size_t>(agreed.greatest)) : error;
}

// What start() has made, of which there may be a part.
fanlight_code end() {
    free_handles();
    close_local_memory();
    // That of all, whose number is the least, after the others.
    for (auto left = teams.all(); !left.empty(); left.pop_back()) free_team(*left.back());
    MPI_Cancel(&runtime.progress);
    MPI_Wait(&runtime.progress, MPI_STATUS_IGNORE);
    MPI_Comm_free(&runtime.progress_comm);
    runtime.waiter.reset();
    const bool finalizes = std::exchange(runtime.finalizes, false);
    return finalizes ? mpi_code(MPI_Finalize(), "MPI_Finalize") : FANLIGHT_OK;
}

}  // namespace
}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_init() {
    if (runtime.users == 0) {
        int over = 0;
        MPI_Finalized(&over);
        if (over) return fail(FANLIGHT_ERR_STATE, "MPI has been finalized");
        if (const fanlight_code error = start()) {
            end();
            return error;
        }
    }
    ++runtime.users;
    return FANLIGHT_OK;
}

fanlight_code fanlight_exit() {
    if (!is_up()) return not_up();
    if (--runtime.users > 0) return FANLIGHT_OK;
    return end();
}

int fanlight_initialized() { return is_up(); }

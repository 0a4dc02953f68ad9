#include "collective/progress_hook.h"

#include <atomic>

#include "collective/library.h"
#include "collective/requests.h"

namespace fanlight::progress_hook {

namespace {

// Stands in the library's list, or is about to.
std::atomic<bool> installed{false}, ended{false};

}  // namespace

#if defined(OPEN_MPI)

namespace {

using Callback = int (*)();
using Register = int (*)(Callback);

Register function(const char* name) { return reinterpret_cast<Register>(find_in_mpi(name)); }

extern "C" int fanlight_progress() {
    if (!ended && requests::messages_in_flight()) requests::advance_inside();
    return 0;  // other calls of the library's do not count what is found there
}

}  // namespace

bool exists() {
    static const bool found = function("opal_progress_register") && function("opal_progress_unregister");
    return found;
}

// It stays: the library's list may be read by other threads while it is changed.  Idle it costs a load.
void install() {
    if (!installed.exchange(true)) function("opal_progress_register")(fanlight_progress);
}

void remove() {
    ended = true;
    if (installed) function("opal_progress_unregister")(fanlight_progress);
}

#elif defined(FANLIGHT_STANDARD_ABI)

// MPICH 5.0.2's libmpi_abi exports none.
bool exists() { return false; }
void install() {}
void remove() {}

#else

namespace {

// As in MPICH's mpi.h, which not every mpi.h of this ABI has.
using Poll = int (*)(void* thing);
using Start = int (*)(Poll, void* state, int stream);
constexpr int no_stream = 0x3c000000, pending = 0, done = 1;

Start start() {
    static const auto found = reinterpret_cast<Start>(find_in_mpi("MPIX_Async_start"));
    return found;
}
auto is_complete() {
    static const auto found = reinterpret_cast<bool (*)(MPI_Request)>(find_in_mpi("MPIX_Request_is_complete"));
    return found;
}

constinit thread_local bool in_progress = false;

extern "C" int fanlight_progress(void*) {
    if (!ended && requests::messages_in_flight()) {
        in_progress = true;
        requests::advance_inside();
        in_progress = false;
        if (requests::messages_in_flight()) return pending;
    }
    // Another thread may start something now, and install it again or not.
    installed = false;
    if (ended || !requests::messages_in_flight() || installed.exchange(true)) return done;
    return pending;
}

}  // namespace

bool exists() { return start() && is_complete(); }

void install() {
    if (!installed.exchange(true)) start()(fanlight_progress, nullptr, no_stream);
}

void remove() { ended = true; }

bool inside() { return in_progress; }
bool is_over(MPI_Request request) { return is_complete()(request); }

#endif

#if defined(OPEN_MPI) || defined(FANLIGHT_STANDARD_ABI)
bool inside() { return false; }
bool is_over(MPI_Request) { return true; }
#endif

}  // namespace fanlight::progress_hook

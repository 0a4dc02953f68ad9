#include "collective/interposition.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "collective/abi.h"
#include "collective/hooks.h"
#include "collective/library.h"
#include "config/config.h"
#include "memory/arena.h"

namespace fanlight {

constinit std::atomic<Role> known_role{Role::unknown};

namespace {

const char* file_name(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
}

Dl_info where_is(const void* address) {
    Dl_info found{};
    return dladdr(address, &found) ? found : Dl_info{};
}

// The loader takes a library once, by its name: a program that is linked to it and has it
// preloaded gets one, the preloaded.
bool is_preloaded() {
    const char* const list = std::getenv("LD_PRELOAD");
    const char* const path = where_is(&known_role).dli_fname;
    return list && path && std::strstr(list, file_name(path)) != nullptr;
}
const bool preloaded = is_preloaded();  // as the program was started, whatever it does to its environment

// Why this library stays out of the program; empty if it need not.
std::string why_not() {
    const void* const version = find_in_mpi("PMPI_Get_library_version");
    const Abi* const theirs = version ? abi_of_mpi() : nullptr;
    if (theirs != &own_abi() && version) {
        const std::string library = where_is(version).dli_fname ? where_is(version).dli_fname : "the MPI library";
        const std::string own = std::string("libfanlight-") + own_abi().preload + ".so is for " + own_abi().of + ", but " + library;
        if (theirs) return own + " has " + theirs->of + ", for which libfanlight-" + theirs->preload + ".so is";
        const std::string_view text = mpi_version();
        return own + " (\"" + std::string(text.substr(0, text.find('\n'))) + "\") has other handles, none that Fanlight knows";
    }
    const char* const lacks = missing_function();
    return lacks ? std::string("the MPI library of this program has no ") + lacks + ", which Fanlight needs" : "";
}

// Why long blocks of malloc are not where other ranks can load from them, where they should be.
std::string why_no_shared_heap() {
    const auto heap = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "fanlight_heap"));
    if (!heap && present_config().heap != "shared") return "";  // MPI_T may still set others
    if (!heap) return std::string("libfanlight-heap.so must be preloaded before libfanlight-") + own_abi().preload + ".so, as `fanlight run --shared-heap` does";
    const std::string_view why = heap();
    if (why.starts_with("FANLIGHT_HEAP=")) return "";  // off, as it is wanted
    if (why.empty()) arena::name();
    return why.empty() ? arena::why() : std::string(why);
}

}  // namespace

Role find_role() {
    // A forked child has its parent's state of Fanlight, but not the helper thread: it leaves all to the MPI library.
    static const int registered = pthread_atfork(nullptr, nullptr, [] { known_role = Role::none; });
    static_cast<void>(registered);
    Role role = preloaded ? Role::waits_and_collectives : Role::waits;
    const std::string why = why_not();
    if (!why.empty()) role = Role::none;
    if (known_role.exchange(role) == Role::unknown && speaks_for_all()) {
        if (role == Role::none) say(why + ": the program goes on without Fanlight");
        else if (const std::string heap = why_no_shared_heap(); !heap.empty()) say("no shared heap: " + heap);
    }
    return role;
}

std::string_view waits_elsewhere() {
    static const std::string_view first = [] {
        for (const char* const name : request_functions()) {
            const void* const found = dlsym(RTLD_DEFAULT, name);
            if (!found || where_is(found).dli_fbase != where_is(&known_role).dli_fbase) return name;
        }
        return "";
    }();
    return first;
}

}  // namespace fanlight

#include "collective/interposition.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "collective/hooks.h"
#include "collective/library.h"
#include "config/config.h"

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

struct Abi {
    const char* preload;  // lib/fanlight/libfanlight-<preload>.so
    const char* of;
};
constexpr Abi mpich{"mpich", "MPICH's ABI"}, openmpi{"openmpi", "Open MPI's ABI"}, standard{"abi", "the standard ABI"};
#if defined(FANLIGHT_STANDARD_ABI)
constexpr const Abi& own = standard;
#elif defined(OPEN_MPI)
constexpr const Abi& own = openmpi;
#else
constexpr const Abi& own = mpich;
#endif

// Of the MPI library that the program calls.
const Abi& abi_of(const char* library) {
    if (std::strncmp(file_name(library), "libmpi_abi.so", 13) == 0) return standard;
    return find_in_mpi("ompi_mpi_comm_world") ? openmpi : mpich;
}

}  // namespace

Role find_role() {
    // What a forked child has of ours is its parent's, whose helper thread it has not: it leaves all to the MPI library.
    static const int registered = pthread_atfork(nullptr, nullptr, [] { known_role = Role::none; });
    static_cast<void>(registered);
    Role role = preloaded ? Role::waits_and_collectives : Role::waits;
    const char* const library = where_is(find_in_mpi("PMPI_Get_library_version")).dli_fname;
    const Abi& theirs = library ? abi_of(library) : own;
    if (&theirs != &own) role = Role::none;
    if (known_role.exchange(role) == Role::unknown && role == Role::none && speaks_for_all())
        say(std::string("libfanlight-") + own.preload + ".so is for " + own.of + ", but " + library + " has " + theirs.of +
            ", for which libfanlight-" + theirs.preload + ".so is: the program goes on without Fanlight");
    return role;
}

bool waits_come_here() {
    static const bool here = [] {
        const void* const found = dlsym(RTLD_DEFAULT, "MPI_Wait");
        return found && where_is(found).dli_fbase == where_is(&known_role).dli_fbase;
    }();
    return here;
}

}  // namespace fanlight

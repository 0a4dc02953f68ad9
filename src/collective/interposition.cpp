#include "collective/interposition.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace fanlight {

namespace {

Dl_info where_is(const void* address) {
    Dl_info found{};
    return dladdr(address, &found) ? found : Dl_info{};
}

// The loader takes a library once, by its name: a program that is linked to it and has it
// preloaded gets one, the preloaded.
bool is_preloaded() {
    const char* const list = std::getenv("LD_PRELOAD");
    const char* const path = where_is(&preloaded).dli_fname;
    if (!list || !path) return false;
    const char* const slash = std::strrchr(path, '/');
    return std::strstr(list, slash ? slash + 1 : path) != nullptr;
}

}  // namespace

const bool preloaded = is_preloaded();

bool waits_come_here() {
    static const bool here = [] {
        const void* const found = dlsym(RTLD_DEFAULT, "MPI_Wait");
        return found && where_is(found).dli_fbase == where_is(&preloaded).dli_fbase;
    }();
    return here;
}

}  // namespace fanlight

#include "collective/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace fanlight {

namespace {

// MPI loaded with dlopen and RTLD_LOCAL is not among what RTLD_NEXT searches.
int look_for_mpi(dl_phdr_info* info, std::size_t, void* found) {
    const char* slash = std::strrchr(info->dlpi_name, '/');
    const char* name = slash ? slash + 1 : info->dlpi_name;
#if defined(FANLIGHT_STANDARD_ABI)
    const bool is_mpi = std::strncmp(name, "libmpi_abi.so", 13) == 0;
#else
    const bool is_mpi = std::strncmp(name, "libmpi.so", 9) == 0 || std::strncmp(name, "libmpich.so", 11) == 0;
#endif
    if (!is_mpi) return 0;
    *static_cast<void**>(found) = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

template <class F>
void load(F& function, const char* symbol, bool needed) {
    function = reinterpret_cast<F>(find_in_mpi(symbol));
    if (!function && needed) missing(symbol);
}

Library load_library() {
    Library l;
#define FUNCTION(name) load(l.name, "PMPI_" #name, true);
#if MPI_VERSION >= 4
#define LARGE(name) load(l.name, "PMPI_" #name, false);
#else
#define LARGE(name)
#endif
#include "collective/library.def"
#undef LARGE
#undef FUNCTION
    return l;
}

}  // namespace

void missing(const char* symbol) {
    std::fprintf(stderr,
                 "fanlight: the MPI library of this program has no %s; is this the preload for "
                 "its ABI?  (`fanlight run` picks it)\n",
                 symbol);
    std::abort();
}

void* find_in_mpi(const char* symbol) {
    if (void* next = dlsym(RTLD_NEXT, symbol)) return next;
    void* handle = nullptr;
    dl_iterate_phdr(look_for_mpi, &handle);
    return handle ? dlsym(handle, symbol) : nullptr;
}

const Library& mpi() {
    static const Library library = load_library();
    return library;
}

const char* mpi_name() {
    static const char* const name = [] {
        char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        mpi().Get_library_version(text, &length);
        if (std::strstr(text, "Intel(R) MPI")) return "impi";
        if (std::strstr(text, "Open MPI")) return "openmpi";
        if (std::strstr(text, "MVAPICH")) return "mvapich";
        return "mpich";
    }();
    return name;
}

}  // namespace fanlight

#include "collective/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace fanlight {

namespace {

// How the files of MPI libraries are called; first those of this library's ABI.
constexpr const char* file_names[] = {
#if defined(FANLIGHT_STANDARD_ABI)
    "libmpi_abi.so", "libmpi.so", "libmpich.so",
#else
    "libmpi.so", "libmpich.so", "libmpi_abi.so",
#endif
};

// MPI loaded with dlopen and RTLD_LOCAL is not among what RTLD_NEXT searches.
void* handle_of_mpi() {
    struct Search {
        const char* name;
        void* found;
    };
    const auto look = [](dl_phdr_info* info, std::size_t, void* data) {
        auto& search = *static_cast<Search*>(data);
        const char* const slash = std::strrchr(info->dlpi_name, '/');
        if (std::strncmp(slash ? slash + 1 : info->dlpi_name, search.name, std::strlen(search.name)) != 0) return 0;
        search.found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        return 1;
    };
    Search search{};
    for (const char* name : file_names) {
        search.name = name;
        if (!search.found) dl_iterate_phdr(look, &search);
    }
    return search.found;
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
    void* const handle = handle_of_mpi();
    return handle ? dlsym(handle, symbol) : nullptr;
}

#if defined(OPEN_MPI)
void* openmpi::find_symbol(const char* name) {
    // A program that is linked to the library may have copies of its variables, which come first for everybody.
    void* found = dlsym(RTLD_DEFAULT, name);
    if (!found) found = find_in_mpi(name);
    if (!found) missing(name);
    return found;
}
#endif

const Library& mpi() {
    static const Library library = load_library();
    return library;
}

const char* mpi_version() {
    static const auto& text = *[] {
        static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
        int length = 0;
        mpi().Get_library_version(text, &length);
        return &text;
    }();
    return text;
}

const char* mpi_name() {
    static const char* const name = [] {
        const char* const text = mpi_version();
        if (std::strstr(text, "Intel(R) MPI")) return "impi";
        if (std::strstr(text, "Open MPI")) return "openmpi";
        if (std::strstr(text, "MVAPICH")) return "mvapich";
        return "mpich";
    }();
    return name;
}

}  // namespace fanlight

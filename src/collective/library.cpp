#include "collective/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "config/mpi_libraries.h"

namespace fanlight {

namespace {

void* handle_of(const std::string& file) { return dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD); }

constexpr const char* what_mpi_exports = "PMPI_Get_library_version";

// The handle of the first loaded library for which is_it(handle).
template <class IsIt>
void* first_loaded(IsIt&& is_it) {
    // Opened after the loop, in which the dynamic linker's list is locked.
    std::vector<std::string> files;
    const auto add = [](dl_phdr_info* info, std::size_t, void* data) {
        if (*info->dlpi_name) static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
        return 0;
    };
    dl_iterate_phdr(add, &files);
    for (const std::string& file : files)
        if (void* const handle = handle_of(file)) {
            if (is_it(handle)) return handle;
            dlclose(handle);
        }
    return nullptr;
}

// MPI loaded with dlopen and RTLD_LOCAL is not among what RTLD_NEXT searches.  It is told by what it exports:
// its file may have any name.
void* handle_of_mpi() {
    static std::atomic<void*> known{nullptr};
    if (void* const handle = known) return handle;
    return known = first_loaded([](void* handle) { return dlsym(handle, what_mpi_exports) != nullptr; });
}

bool is_own(const void* address) {
    Dl_info its{}, own{};
    return dladdr(address, &its) && dladdr(reinterpret_cast<const void*>(&handle_of_mpi), &own) && its.dli_fbase == own.dli_fbase;
}

template <class F>
void load(F& function, const char* symbol, const char** lacks) {
    function = reinterpret_cast<F>(find_in_mpi(symbol));
    if (!function && lacks && !*lacks) *lacks = symbol;
}

struct Loaded {
    Library library;
    const char* lacks = nullptr;
};

Loaded load_library() {
    Loaded loaded;
    Library& l = loaded.library;
#define FUNCTION(name) load(l.name, "PMPI_" #name, &loaded.lacks);
#if MPI_VERSION >= 4
#define LARGE(name) load(l.name, "PMPI_" #name, nullptr);
#else
#define LARGE(name)
#endif
#include "collective/library.def"
#undef LARGE
#undef FUNCTION
    return loaded;
}

const Loaded& loaded() {
    static const Loaded all = load_library();
    return all;
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
    if (!handle) return nullptr;
    void* found = dlsym(handle, symbol);
    if (found) return found;
    // Fortran's functions may be in a library of their own, which only what has loaded it sees.
    const void* const version = dlsym(handle, what_mpi_exports);
    first_loaded([&](void* other) {
        found = dlsym(other, what_mpi_exports) == version ? dlsym(other, symbol) : nullptr;
        if (found && is_own(found)) found = nullptr;
        return found != nullptr;
    });
    return found;
}

std::vector<const void*> all_in_program(const char* symbol) {
    std::vector<const void*> all;
    const auto add = [&](void* handle) {
        if (const void* const found = dlsym(handle, symbol); found && std::ranges::find(all, found) == all.end()) all.push_back(found);
        return false;
    };
    add(RTLD_DEFAULT);
    first_loaded(add);
    return all;
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

void* find_beside_mpi(const char* symbol) {
    static void* const handle = [] {
        Dl_info found{};
        void* const function = find_in_mpi("PMPI_Get_library_version");
        return function && dladdr(function, &found) && found.dli_fname ? handle_of(found.dli_fname) : nullptr;
    }();
    return handle ? dlsym(handle, symbol) : find_in_mpi(symbol);
}

const char* missing_function() { return loaded().lacks; }

const Library& mpi() {
    static const Library& library = [] () -> const Library& {
        if (const char* const symbol = missing_function()) missing(symbol);
        return loaded().library;
    }();
    return library;
}

const char* mpi_version() {
    // Longer than any ABI says: it may not be this one's.
    static char text[1 << 16] = "";
    static const bool asked = [] {
        int length = 0;
        if (void* const ask = find_in_mpi("PMPI_Get_library_version")) reinterpret_cast<int (*)(char*, int*)>(ask)(text, &length);
        return true;
    }();
    static_cast<void>(asked);
    return text;
}

std::string_view mpi_name() {
    static const std::string_view name = mpi_library(mpi_version());
    return name;
}

}  // namespace fanlight

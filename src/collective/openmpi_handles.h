// Open MPI's handles are the addresses of its variables.  They are looked up when first used, as its functions are
// (library.h): a library that named the variables to the linker would need libmpi.so.40 in every process that it is
// preloaded into, even if that is no MPI program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace fanlight::openmpi {

// Ends the program with a message where there is none.
void* find_symbol(const char* name);

template <std::size_t n>
struct Name {
    constexpr Name(const char (&name)[n]) { std::copy(name, name + n, text); }
    char text[n];
};

template <Name name>
inline void* symbol() {
    static constinit std::atomic<void*> address{nullptr};
    void* a = address.load(std::memory_order_relaxed);
    if (!a) [[unlikely]] {
        a = find_symbol(name.text);
        address.store(a, std::memory_order_relaxed);
    }
    return a;
}

}  // namespace fanlight::openmpi

// What mpi.h makes MPI_COMM_WORLD and all other handles with.
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::fanlight::openmpi::symbol<#global>()))

#undef MPI_COMM_NULL_COPY_FN
#define MPI_COMM_NULL_COPY_FN \
    (reinterpret_cast<MPI_Comm_copy_attr_function*>(::fanlight::openmpi::symbol<"OMPI_C_MPI_COMM_NULL_COPY_FN">()))
#undef MPI_TYPE_NULL_COPY_FN
#define MPI_TYPE_NULL_COPY_FN \
    (reinterpret_cast<MPI_Type_copy_attr_function*>(::fanlight::openmpi::symbol<"OMPI_C_MPI_TYPE_NULL_COPY_FN">()))

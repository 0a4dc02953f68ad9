// The MPI library that the program runs with, found at run time: the preload may be loaded before any MPI (NEURON, for
// one, loads its MPI with dlopen).
#pragma once

#include <string_view>
#include <vector>

#include "collective/mpi_header.h"

namespace fanlight {

struct Library {
#define FUNCTION(name) decltype(&::PMPI_##name) name = nullptr;
#if MPI_VERSION >= 4
#define LARGE(name) FUNCTION(name)
#else
#define LARGE(name)
#endif
#include "collective/library.def"
#undef LARGE
#undef FUNCTION
};

// Ends the program with a message where a function is missing.
const Library& mpi();

// What the program would get under this name if this library were not there; null if nothing.
void* find_in_mpi(const char* symbol);
// The same in the MPI library's own file and those that it is linked to, whatever else the program has loaded.
void* find_beside_mpi(const char* symbol);
// The variables of this name that the program and its libraries have, those loaded with RTLD_LOCAL as well.
std::vector<const void*> all_in_program(const char* symbol);
// The first of library.def's functions that the MPI library has not; null if none.
const char* missing_function();
// Ends the program: its MPI library lacks this function.
[[noreturn]] void missing(const char* symbol);

// What MPI_Get_library_version says.
const char* mpi_version();
// As rules name it (Situation::mpi).
std::string_view mpi_name();

}  // namespace fanlight

// The MPI libraries that rules and fingerprints tell apart, by what MPI_Get_library_version says.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace fanlight {

struct MpiLibrary {
    std::string_view name, said;
};

// The first that fits: those derived from MPICH name it too.
inline constexpr std::array<MpiLibrary, 6> mpi_libraries{{
    {"impi", "Intel(R) MPI"}, {"openmpi", "Open MPI"}, {"mvapich", "MVAPICH"}, {"cray", "CRAY"}, {"mpich", "MPICH"}, {"other", ""}}};

constexpr std::string_view mpi_library(std::string_view version) {
    return std::ranges::find_if(mpi_libraries, [&](const MpiLibrary& l) { return version.find(l.said) != version.npos; })->name;
}

}  // namespace fanlight

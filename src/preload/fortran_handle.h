// Handles of Fortran's, which are integers, as C's and back: by the MPI library's own functions, or C's number in MPICH's ABI.
#pragma once

#include <string>

#include "collective/library.h"
#include "collective/mpi_header.h"

#if defined(FANLIGHT_STANDARD_ABI)
using MPI_Fint = int;  // which the standard ABI leaves out
#endif

namespace fanlight::fortran {

// `kind`: as in MPI_<kind>_f2c.
template <class To, class From>
To convert([[maybe_unused]] const char* kind, [[maybe_unused]] const char* by, From handle) {
#if defined(OPEN_MPI) || defined(FANLIGHT_STANDARD_ABI)
    static const auto function = [=] {  // each kind has types of its own
        const std::string name = std::string("PMPI_") + kind + by;
        const auto found = reinterpret_cast<To (*)(From)>(find_in_mpi(name.c_str()));
        if (!found) missing(name.c_str());
        return found;
    }();
    return function(handle);
#else
    return handle;
#endif
}

#if defined(FANLIGHT_STANDARD_ABI)
constexpr const char *from = "_fromint", *to = "_toint";
#else
constexpr const char *from = "_f2c", *to = "_c2f";
#endif

template <class Handle>
Handle to_c(const char* kind, MPI_Fint handle) {
    return convert<Handle>(kind, from, handle);
}
template <class Handle>
MPI_Fint from_c(const char* kind, Handle handle) {
    return convert<MPI_Fint>(kind, to, handle);
}

}  // namespace fanlight::fortran

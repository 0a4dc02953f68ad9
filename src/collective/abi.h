// Which ABI the MPI library of this process has, told by what it does and not by its file name.
#pragma once

namespace fanlight {

struct Abi {
    const char* preload;  // lib/fanlight/libfanlight-<preload>.so
    const char* of;
};

// The one that this library is built for.
const Abi& own_abi();

// Of the library that exports PMPI_Get_library_version; null where its handles are none that Fanlight knows,
// as those of a layer that translates between MPIs (MPItrampoline, Mukautuva, Wi4MPI).
const Abi* abi_of_mpi();

}  // namespace fanlight

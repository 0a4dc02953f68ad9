#include "collective/abi.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "collective/library.h"

namespace fanlight {

namespace {

constexpr Abi mpich_abi{"mpich", "MPICH's ABI"}, openmpi_abi{"openmpi", "Open MPI's ABI"}, standard_abi{"abi", "the standard ABI"};

template <class Function>
Function* function(const char* name) {
    return reinterpret_cast<Function*>(find_beside_mpi(name));
}

// By what it exports.  MPICH's mpi.h names MPIR_Dup_fn, and Open MPI's its handles, so that all libraries of
// these ABIs have them.  A library that has the standard ABI says so; MPICH's other one says -1.
const Abi* by_symbols() {
    int major = -1, minor = -1;
    if (const auto version = function<int(int*, int*)>("PMPI_Abi_get_version")) version(&major, &minor);
    if (major >= 0) return &standard_abi;
    if (find_beside_mpi("ompi_mpi_comm_null")) return &openmpi_abi;
    return find_beside_mpi("MPIR_Dup_fn") ? &mpich_abi : nullptr;
}

// By a handle that it gives out.  MPI_Comm_get_parent takes none, which in a library with other handles
// could end the program, and as a rule gives MPI_COMM_NULL.
const Abi* by_handle() {
    constexpr unsigned char untouched = 0xa5;
    alignas(16) unsigned char written[16];
    std::memset(written, untouched, sizeof written);
    function<int(void*)>("PMPI_Comm_get_parent")(written);
    std::size_t bytes = sizeof written;
    while (bytes > 0 && written[bytes - 1] == untouched) --bytes;
    if (bytes == 4) {
        std::uint32_t handle;
        std::memcpy(&handle, written, sizeof handle);
        return (handle >> 26 & 15) == 1 ? &mpich_abi : nullptr;  // these bits say that it is a communicator
    }
    if (bytes != 8) return nullptr;
    std::uintptr_t handle;
    std::memcpy(&handle, written, sizeof handle);
    void* const null_of_openmpi = find_beside_mpi("ompi_mpi_comm_null");
    if (null_of_openmpi && handle == reinterpret_cast<std::uintptr_t>(null_of_openmpi)) return &openmpi_abi;
    if (handle == 0x100) return &standard_abi;
    // A program that another one has started has a parent: some address.
    const Abi* const abi = by_symbols();
    return abi == &mpich_abi ? nullptr : abi;
}

// A layer may have the handles of one MPI and run on another: the version is as a rule the other's.
const Abi* by_version() {
    struct Name {
        const char* text;
        const Abi* abi;
    };
    const std::string_view version = mpi_version();
    Name first{};
    std::size_t where = version.npos;
    for (const Name& name : {Name{"Open MPI", &openmpi_abi}, Name{"MPICH", &mpich_abi}, Name{"MVAPICH", &mpich_abi}, Name{"Intel(R) MPI", &mpich_abi}})
        if (const std::size_t at = version.find(name.text); at < where) where = at, first = name;
    return first.abi;
}

}  // namespace

const Abi& own_abi() {
#if defined(FANLIGHT_STANDARD_ABI)
    return standard_abi;
#elif defined(OPEN_MPI)
    return openmpi_abi;
#else
    return mpich_abi;
#endif
}

const Abi* abi_of_mpi() {
    int initialized = 0, finalized = 0;
    const auto is_initialized = function<int(int*)>("PMPI_Initialized"), is_finalized = function<int(int*)>("PMPI_Finalized");
    if (is_initialized) is_initialized(&initialized);
    if (is_finalized) is_finalized(&finalized);
    const bool may_ask = initialized && !finalized && find_beside_mpi("PMPI_Comm_get_parent");
    const Abi* const abi = may_ask ? by_handle() : by_symbols();
    const Abi* const named = by_version();
    return abi == &standard_abi || !named || named == abi ? abi : nullptr;
}

}  // namespace fanlight

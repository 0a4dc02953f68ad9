#include "api/fortran.h"

#include <dlfcn.h>

#include <string>

#pragma GCC visibility push(default)
// The module's, in the program, where there is one: the loader then finds that everywhere.
extern "C" {
int fanlight_fortran_in_place = 0;
}
#pragma GCC visibility pop

namespace fanlight::api {

namespace {

#if defined(OPEN_MPI)
constexpr const char *from = "_f2c", *to = "_c2f";
#elif defined(FANLIGHT_STANDARD_ABI)
constexpr const char *from = "_fromint", *to = "_toint";
#else
constexpr const char *from = "", *to = "";  // C's number in MPICH's ABI
#endif

template <class To, class From>
To convert([[maybe_unused]] const char* kind, [[maybe_unused]] const char* direction, From handle) {
#if defined(OPEN_MPI) || defined(FANLIGHT_STANDARD_ABI)
    static const auto function = [=] {  // each kind has types of its own
        const std::string name = std::string("PMPI_") + kind + direction;
        const auto found = reinterpret_cast<To (*)(From)>(find_in_mpi(name.c_str()));
        if (!found) missing(name.c_str());
        return found;
    }();
    return function(handle);
#else
    return handle;
#endif
}

#if !defined(OPEN_MPI)
// Of MPICH's libraries for Fortran: where mpif.h and `use mpi` have it, and mpi_f08.
bool is_in_place(const void* address) {
    static const auto of_mpif = static_cast<void* const*>(dlsym(RTLD_DEFAULT, "MPIR_F_MPI_IN_PLACE"));
    static const void* const of_f08 = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_IN_PLACE");
    return (of_mpif && *of_mpif == address) || (of_f08 && of_f08 == address);
}
#endif

}  // namespace

MPI_Comm c_comm(MPI_Fint handle) { return convert<MPI_Comm>("Comm", from, handle); }
MPI_Datatype c_datatype(MPI_Fint handle) { return convert<MPI_Datatype>("Type", from, handle); }
MPI_Op c_op(MPI_Fint handle) { return convert<MPI_Op>("Op", from, handle); }
MPI_Info c_info(MPI_Fint handle) { return convert<MPI_Info>("Info", from, handle); }
MPI_Fint to_fortran(MPI_Request request) { return convert<MPI_Fint>("Request", to, request); }

void* c_buffer(const void* given) {
    void* const address = const_cast<void*>(given);
    if (!address) return address;
    if (address == &fanlight_fortran_in_place) return MPI_IN_PLACE;
#if defined(OPEN_MPI)
    return fortran::buffer(address);
#else
    return is_in_place(address) ? MPI_IN_PLACE : address;
#endif
}

std::vector<MPI_Datatype> datatypes_of_all(const MPI_Fint* given, const void* at, MPI_Fint handle) {
    std::vector<MPI_Datatype> all;
    if (c_buffer(at) == MPI_IN_PLACE) return all;
    const MPI_Comm comm = c_comm(handle);
    int inter = 0, size = 0;
    mpi().Comm_test_inter(comm, &inter);
    if (inter) mpi().Comm_remote_size(comm, &size);
    else mpi().Comm_size(comm, &size);
    for (int r = 0; r < size; ++r) all.push_back(c_datatype(given[r]));
    return all;
}

}  // namespace fanlight::api

#pragma GCC visibility push(default)
extern "C" {

void fanlight_prepare_f(MPI_Fint comm, MPI_Fint* ierror) {
    const int error = fanlight_prepare(c_comm(comm));
    if (ierror) *ierror = error;
}

void fanlight_set_algorithm_f(MPI_Fint comm, const char* algorithms, MPI_Fint* ierror) {
    const int error = fanlight_set_algorithm(c_comm(comm), algorithms);
    if (ierror) *ierror = error;
}

void fanlight_get_algorithm_f(MPI_Fint comm, const char* operation, long long bytes, char* text, int length,
                              MPI_Fint* ierror) {
    const int error = fanlight_get_algorithm(c_comm(comm), operation, bytes, text, length);
    if (ierror) *ierror = error;
}

}  // extern "C"
#pragma GCC visibility pop

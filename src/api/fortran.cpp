#include "api/fortran.h"

#include <mutex>
#include <set>
#include <string>
#include <utility>

#pragma GCC visibility push(default)
// The module's, in the program, where there is one: the loader then finds that everywhere.
extern "C" {
int fanlight_fortran_in_place = 0;
}
#pragma GCC visibility pop

namespace fanlight::api {

#if !defined(OPEN_MPI)
namespace {

// A variable of MPICH's libraries for Fortran: where mpif.h and `use mpi` have it, and mpi_f08.
class Variable {
public:
    explicit Variable(const std::string& name)
        : of_mpif_(static_cast<void* const*>(first("MPIR_F_" + name))), of_f08_(first("MPIR_F08_" + name)) {}
    bool is_at(const void* address) const { return (of_mpif_ && *of_mpif_ == address) || of_f08_ == address; }

private:
    static const void* first(const std::string& symbol) {
        const std::vector<const void*> all = all_in_program(symbol.c_str());
        return all.empty() ? nullptr : all.front();
    }

    void* const* of_mpif_;
    const void* of_f08_;
};

}  // namespace
#endif

void* c_buffer(const void* given) {
    void* const address = const_cast<void*>(given);
    if (!address) return address;
    if (address == &fanlight_fortran_in_place) return MPI_IN_PLACE;
#if defined(OPEN_MPI)
    return fortran::buffer(address);
#else
    static const Variable in_place("MPI_IN_PLACE"), bottom("MPI_BOTTOM");
    return in_place.is_at(address) ? MPI_IN_PLACE : bottom.is_at(address) ? MPI_BOTTOM : address;
#endif
}

const std::vector<MPI_Datatype>& kept(std::vector<MPI_Datatype> datatypes) {
    static std::mutex& mutex = *new std::mutex;
    static auto& all = *new std::set<std::vector<MPI_Datatype>>;
    const std::scoped_lock lock(mutex);
    return *all.insert(std::move(datatypes)).first;
}

}  // namespace fanlight::api

using fanlight::fortran::to_c;

#pragma GCC visibility push(default)
extern "C" {

void fanlight_prepare_f(MPI_Fint comm, MPI_Fint* ierror) {
    const int error = fanlight_prepare(to_c<MPI_Comm>("Comm", comm));
    if (ierror) *ierror = error;
}

void fanlight_set_algorithm_f(MPI_Fint comm, const char* algorithms, MPI_Fint* ierror) {
    const int error = fanlight_set_algorithm(to_c<MPI_Comm>("Comm", comm), algorithms);
    if (ierror) *ierror = error;
}

void fanlight_get_algorithm_f(MPI_Fint comm, const char* operation, long long bytes, char* text, int length,
                              MPI_Fint* ierror) {
    const int error = fanlight_get_algorithm(to_c<MPI_Comm>("Comm", comm), operation, bytes, text, length);
    if (ierror) *ierror = error;
}

}  // extern "C"
#pragma GCC visibility pop

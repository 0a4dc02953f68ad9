#include "preload/fortran.h"

#include <dlfcn.h>

#include <vector>

#include "collective/communicator.h"
#include "collective/library.h"
#include "collective/neighborhood.h"
#include "collective/requests.h"

#if defined(OPEN_MPI)
namespace fanlight::fortran {

namespace {

// The common blocks of Open MPI's mpif.h, in all spellings that its own library looks at
// (ompi/mpi/fortran/base/constants.h).  The program's definition is the one that everybody
// finds, libmpi included.
class Sentinel {
public:
    Sentinel(const char* a, const char* b, const char* c, const char* d)
        : addresses_{dlsym(RTLD_DEFAULT, a), dlsym(RTLD_DEFAULT, b), dlsym(RTLD_DEFAULT, c), dlsym(RTLD_DEFAULT, d)} {}
    bool is(const void* address) const {
        for (const void* one : addresses_)
            if (one && one == address) return true;
        return false;
    }

private:
    const void* addresses_[4];
};

template <class Handle>
Handle convert(const char* name, MPI_Fint handle) {
    using Function = Handle (*)(MPI_Fint);
    static const auto function = reinterpret_cast<Function>(find_in_mpi(name));
    return function(handle);
}

}  // namespace

void* buffer(void* address) {
    static const Sentinel in_place("mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE");
    static const Sentinel bottom("mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM");
    if (in_place.is(address)) return MPI_IN_PLACE;
    if (bottom.is(address)) return MPI_BOTTOM;
    return address;
}

MPI_Comm communicator(const MPI_Fint* f) { return convert<MPI_Comm>("PMPI_Comm_f2c", *f); }
MPI_Datatype datatype(const MPI_Fint* f) { return convert<MPI_Datatype>("PMPI_Type_f2c", *f); }
std::vector<MPI_Datatype> datatypes(const MPI_Fint* f, const void* buffer, const MPI_Fint* comm) {
    const Communicator* const known = communicators::find(communicator(comm));
    if (!known || known->reason() == Reason::intercommunicator || buffer == MPI_IN_PLACE) return {};
    std::vector<MPI_Datatype> all;
    for (int r = 0; r < known->size(); ++r) all.push_back(datatype(f + r));
    return all;
}
std::vector<MPI_Datatype> datatypes_of_neighbors(const MPI_Fint* f, bool targets, const MPI_Fint* comm) {
    if (!communicators::find(communicator(comm))) return {};
    const Places places = places_of_neighbors(communicator(comm));
    std::vector<MPI_Datatype> all;
    for (int i = 0; i < (targets ? places.targets : places.sources); ++i) all.push_back(datatype(f + i));
    return all;
}
MPI_Op op(const MPI_Fint* f) { return convert<MPI_Op>("PMPI_Op_f2c", *f); }
MPI_Info info(const MPI_Fint* f) { return convert<MPI_Info>("PMPI_Info_f2c", *f); }
MPI_Fint request(MPI_Request c) {
    static const auto function = reinterpret_cast<MPI_Fint (*)(MPI_Request)>(find_in_mpi("PMPI_Request_c2f"));
    return function(c);
}

}  // namespace fanlight::fortran
#endif

namespace fanlight::fortran {

namespace {

// A handle of Fortran's is C's number in MPICH's ABI.
#if defined(OPEN_MPI)
#define FROM_FORTRAN(Handle, name) convert<Handle>("PMPI_" name "_f2c", *f)
#elif defined(FANLIGHT_STANDARD_ABI)
#define FROM_FORTRAN(Handle, name) from_int<Handle>("PMPI_" name "_fromint", *f)
template <class Handle>
Handle from_int(const char* function, MPI_Fint number) {
    static const auto convert = reinterpret_cast<Handle (*)(int)>(find_in_mpi(function));
    if (!convert) missing(function);
    return convert(number);
}
#else
#define FROM_FORTRAN(Handle, name) *f
#endif

}  // namespace

MPI_Request request(const MPI_Fint* f) { return FROM_FORTRAN(MPI_Request, "Request"); }
MPI_Win window(const MPI_Fint* f) { return FROM_FORTRAN(MPI_Win, "Win"); }

namespace {
std::vector<MPI_Request> requests_of(MPI_Fint count, const MPI_Fint* all) {
    std::vector<MPI_Request> c;
    for (MPI_Fint i = 0; i < count; ++i) c.push_back(request(all + i));
    return c;
}
}  // namespace

void each(void (*act)(int, const MPI_Request[]), MPI_Fint count, const MPI_Fint* all) {
    act(count, requests_of(count, all).data());
}

bool kept(MPI_Fint* f) {
#if defined(OPEN_MPI)
    MPI_Op c = op(f);
    if (!requests::kept(&c)) return false;
    static const auto function = reinterpret_cast<MPI_Fint (*)(MPI_Op)>(find_in_mpi("PMPI_Op_c2f"));
    *f = function(MPI_OP_NULL);
#elif defined(FANLIGHT_STANDARD_ABI)
    static const auto from_int = reinterpret_cast<MPI_Op (*)(int)>(find_in_mpi("PMPI_Op_fromint"));
    static const auto to_int = reinterpret_cast<int (*)(MPI_Op)>(find_in_mpi("PMPI_Op_toint"));
    if (!from_int || !to_int) missing("PMPI_Op_fromint");
    MPI_Op c = from_int(*f);
    if (!requests::kept(&c)) return false;
    *f = to_int(MPI_OP_NULL);
#else
    if (!requests::kept(f)) return false;
#endif
    return true;
}

bool start(MPI_Fint count, const MPI_Fint* all, MPI_Fint* error) {
    const std::vector<MPI_Request> c = requests_of(count, all);
    int code;
    if (!requests::start(count, c.data(), code)) return false;
    *error = code;
    return true;
}

}  // namespace fanlight::fortran

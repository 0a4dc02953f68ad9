#include "preload/fortran.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "collective/neighborhood.h"
#include "collective/requests.h"

#if defined(OPEN_MPI)
namespace fanlight::fortran {

namespace {

// The common blocks of Open MPI's mpif.h, in all spellings that its own library looks at
// (ompi/mpi/fortran/base/constants.h).  The program's definition is the one that everybody
// finds, libmpi included; but a library that is loaded with RTLD_LOCAL has its own.  Open MPI knows no others than
// those that are there when its Fortran library is loaded, before the first call.
class Sentinel {
public:
    Sentinel(std::initializer_list<const char*> names) {
        for (const char* name : names)
            for (const void* address : all_in_program(name)) addresses_.push_back(address);
    }
    bool is(const void* address) const { return std::ranges::find(addresses_, address) != addresses_.end(); }

private:
    std::vector<const void*> addresses_;
};

}  // namespace

void* buffer(void* address) {
    static const Sentinel in_place{"mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__", "MPI_FORTRAN_IN_PLACE"};
    static const Sentinel bottom{"mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__", "MPI_FORTRAN_BOTTOM"};
    if (in_place.is(address)) return MPI_IN_PLACE;
    if (bottom.is(address)) return MPI_BOTTOM;
    return address;
}

std::vector<MPI_Datatype> datatypes_of_neighbors(const MPI_Fint* f, bool targets, MPI_Comm comm) {
    std::vector<MPI_Datatype> all;
    if (comm == MPI_COMM_NULL) return all;  // an error of the call itself
    const Places places = places_of_neighbors(comm);
    for (int i = 0; i < (targets ? places.targets : places.sources); ++i) all.push_back(to_c<MPI_Datatype>("Type", f[i]));
    return all;
}

}  // namespace fanlight::fortran
#endif

namespace fanlight::fortran {

std::vector<MPI_Datatype> datatypes(const MPI_Fint* f, const void* buffer, MPI_Comm comm) {
    std::vector<MPI_Datatype> all;
    if (buffer == MPI_IN_PLACE || comm == MPI_COMM_NULL) return all;  // the latter is an error of the call itself
    int inter = 0, size = 0;
    mpi().Comm_test_inter(comm, &inter);
    if (inter) mpi().Comm_remote_size(comm, &size);
    else mpi().Comm_size(comm, &size);
    for (int r = 0; r < size; ++r) all.push_back(to_c<MPI_Datatype>("Type", f[r]));
    return all;
}

namespace {
std::vector<MPI_Request> requests_of(MPI_Fint count, const MPI_Fint* all) {
    std::vector<MPI_Request> c;
    for (MPI_Fint i = 0; i < count; ++i) c.push_back(to_c<MPI_Request>("Request", all[i]));
    return c;
}
}  // namespace

void each(void (*act)(int, const MPI_Request[]), MPI_Fint count, const MPI_Fint* all) {
    act(count, requests_of(count, all).data());
}

int wait_all(const MPI_Fint* count, MPI_Fint* all, void* statuses) {
    static const std::vector<const void*> ignored = all_in_program("MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
    std::vector<MPI_Request> c = requests_of(*count, all);
    const bool ignores = std::ranges::find(ignored, statuses) != ignored.end();
    const int error = requests::wait_all(*count, c.data(), ignores ? MPI_STATUSES_IGNORE : static_cast<MPI_Status*>(statuses), mpi().Test);
    for (std::size_t i = 0; i < c.size(); ++i) all[i] = from_c("Request", c[i]);
    return error;
}

bool kept(MPI_Fint* f) {
    MPI_Op c = to_c<MPI_Op>("Op", *f);
    if (!requests::kept(&c)) return false;
    *f = from_c("Op", c);
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

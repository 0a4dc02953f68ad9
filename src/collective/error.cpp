#include "collective/error.h"

#include "collective/library.h"

namespace fanlight {

int error_code(const std::string& text) {
    static const int code = [] {
        int made = MPI_ERR_OTHER;
        mpi().Add_error_code(MPI_ERR_OTHER, &made);
        return made;
    }();
    if (code != MPI_ERR_OTHER) mpi().Add_error_string(code, ("fanlight: " + text).substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
    return code;
}

int raise(MPI_Comm comm, const std::string& text) {
    const int code = error_code(text);
    mpi().Comm_call_errhandler(comm, code);
    return code;
}

}  // namespace fanlight

#include "collective/error.h"

#include <atomic>

#include "collective/library.h"

namespace fanlight {

int error_code(const std::string& text) {
    // No static object's lock is held while MPI is called (keyval.h).  Of two threads that come first one makes a code too many.
    static std::atomic<int> known{MPI_ERR_OTHER};
    int code = known;
    if (int made = MPI_ERR_OTHER; code == MPI_ERR_OTHER && mpi().Add_error_code(MPI_ERR_OTHER, &made) == MPI_SUCCESS)
        code = known.compare_exchange_strong(code, made) ? made : code;
    if (code != MPI_ERR_OTHER) mpi().Add_error_string(code, ("fanlight: " + text).substr(0, MPI_MAX_ERROR_STRING - 1).c_str());
    return code;
}

int raise(MPI_Comm comm, const std::string& text) {
    const int code = error_code(text);
    mpi().Comm_call_errhandler(comm, code);
    return code;
}

}  // namespace fanlight

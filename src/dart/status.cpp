#include "dart/status.h"

#include <cstdio>

#include "global/runtime.h"

namespace fanlight::dart {

dart_ret_t said(const char* function, fanlight_code code) {
    std::fprintf(stderr, "fanlight: %s: %s\n", function, fanlight_message());
    if (!global::is_up()) return DART_ERR_NOTINIT;
    switch (code) {
        case FANLIGHT_OK: return DART_OK;
        case FANLIGHT_ERR_MPI: return DART_ERR_OTHER;
        case FANLIGHT_ERR_MEMORY: return DART_ERR_NOMEM;
        default: return DART_ERR_INVAL;
    }
}

dart_ret_t invalid(const char* function, const char* why) {
    return said(function, global::is_up() ? global::fail(FANLIGHT_ERR_ARGUMENT, "%s", why) : global::not_up());
}

dart_ret_t mpi_status(const char* function, int error) { return status(function, global::mpi_code(error, "MPI")); }

}  // namespace fanlight::dart

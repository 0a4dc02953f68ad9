#include "global/error.h"

#include <cstdarg>
#include <cstdio>

#include "collective/mpi_header.h"

namespace fanlight::global {

namespace {
thread_local char message[512];
}

fanlight_code fail(fanlight_code code, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return code;
}

fanlight_code mpi_code(int error, const char* what) {
    if (error == MPI_SUCCESS) return FANLIGHT_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    return fail(FANLIGHT_ERR_MPI, "%s: %s", what, text);
}

}  // namespace fanlight::global

const char* fanlight_message() { return fanlight::global::message; }

// What went wrong: a code and a sentence, for each thread.
#pragma once

#include "fanlight/global.h"

namespace fanlight::global {

// Keeps the sentence for fanlight_message and returns the code.
[[gnu::format(printf, 2, 3), gnu::cold]] fanlight_code fail(fanlight_code, const char* format, ...);

// An MPI error code as ours; `what` names the MPI function.
fanlight_code mpi_code(int error, const char* what);

}  // namespace fanlight::global

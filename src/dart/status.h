// DART's return codes: Fanlight's, translated.  The message goes to standard error, because DART has no function that
// would return it.
#pragma once

#include "fanlight/dart.h"
#include "fanlight/global.h"

namespace fanlight::dart {

dart_ret_t said(const char* function, fanlight_code);

inline dart_ret_t status(const char* function, fanlight_code code) {
    return code == FANLIGHT_OK ? DART_OK : said(function, code);
}

// A wrong argument.
[[gnu::cold]] dart_ret_t invalid(const char* function, const char* why);
dart_ret_t mpi_status(const char* function, int error);

}  // namespace fanlight::dart

// DART's return codes: Fanlight's, translated, the sentence said on standard error since DART
// has no function that would give it.
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

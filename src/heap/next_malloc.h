// The malloc that this library precedes: the C library's, or another one (jemalloc, tcmalloc).
#pragma once

#include <cstddef>

namespace fanlight {

struct NextMalloc {
#define FUNCTION(result, name, parameters, arguments) result(*name) parameters;
#include "heap/functions.def"
#undef FUNCTION
    bool is_libcs;
};

// Looked for at the first call, which comes before any constructor has run.
const NextMalloc& next_malloc() noexcept;
// Whether a call of malloc reaches this library's, and none that lies before it: the program's own, another preload's.
bool malloc_comes_here() noexcept;
// Whether it lies in the memory for what is asked for while it is being looked for; that is never freed.
bool is_early(const void* block) noexcept;
// How many bytes may be read of one that does.
std::size_t early_bytes(const void* block) noexcept;

}  // namespace fanlight

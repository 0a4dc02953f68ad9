// Compiled into each shared library by itself: symbols from a static library are not exported.
#include "memory/one_arena.h"

// GCC makes what is inline and visible unique in the process.
extern "C" {
[[gnu::visibility("default"), gnu::used]] inline constinit fanlight::OneArena fanlight_arena_0{};
}

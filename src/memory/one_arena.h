// The one arena of a process that has loaded several of Fanlight's libraries: the shared heap, a preload, global memory.
// Each contains the arena's code; they all call that of the library that was first asked for a block.
//
// They meet in a variable that the dynamic linker makes once per process (STB_GNU_UNIQUE), even for libraries loaded with
// RTLD_LOCAL, as Python does.  dlsym would not find those, and it may call malloc, behind which the arena stands.  The
// variable's name has a version; a library with another version has its own arena, which is no mistake.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/arena.h"

namespace fanlight {

struct ArenaFunctions {
    void* (*allocate)(std::size_t bytes, std::size_t alignment, arena::Contents) noexcept;
    void (*release)(void*) noexcept;
    void* (*resize)(void*, std::size_t) noexcept;
    std::size_t (*size_of)(const void*) noexcept;
    ArenaName (*name)() noexcept;
    const char* (*why)() noexcept;
};

struct OneArena {
    std::atomic<std::uintptr_t> base{0};
    std::atomic<std::size_t> bytes{0};  // 0: there is none
    std::atomic<const ArenaFunctions*> functions{nullptr};
};

}  // namespace fanlight

extern "C" {
[[gnu::visibility("default")]] extern fanlight::OneArena fanlight_arena_0;
}

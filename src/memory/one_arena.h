// The one arena of a process in which several of Fanlight's libraries are loaded: the shared heap, a preload, global
// memory.  Each has the arena's code inside; what they call is that of the first one that was asked for a block.
//
// They meet in a variable of which the dynamic linker makes one in a process (STB_GNU_UNIQUE), even for libraries that
// are loaded for their own use (RTLD_LOCAL, as by Python); dlsym would not find those, and may call malloc, behind which
// the arena stands.  Its name has a version: a library with another one has an arena of its own, which is no mistake.
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

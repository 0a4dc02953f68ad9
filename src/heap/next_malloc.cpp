#include "heap/next_malloc.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

extern "C" void* __libc_malloc(std::size_t);

namespace fanlight {

namespace {

constinit NextMalloc next{};
constinit bool found = false;

// For the one thread that there is then.  dlsym may ask for a few bytes.
alignas(16) constinit std::byte early[4096]{};
constinit std::size_t early_used = 0;

void* early_block(std::size_t bytes) {
    if (bytes > sizeof early - early_used) return nullptr;
    std::byte* const block = early + early_used;
    early_used += (bytes + 15) / 16 * 16;
    return block;
}

const void* library_of(const void* function) {
    Dl_info where{};
    return dladdr(function, &where) ? where.dli_fbase : nullptr;
}

void find() {
    // Until it is found.
    next.malloc = early_block;
    next.calloc = [](std::size_t count, std::size_t each) { return early_block(count * each); };
    next.free = [](void*) {};
    next.realloc = [](void*, std::size_t) -> void* { return nullptr; };
    found = true;
    NextMalloc all{};
#define FUNCTION(result, name, parameters, arguments) all.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name));
#include "heap/functions.def"
#undef FUNCTION
    all.is_libcs = library_of(reinterpret_cast<void*>(all.malloc)) == library_of(reinterpret_cast<void*>(&__libc_malloc));
    next = all;
}

}  // namespace

const NextMalloc& next_malloc() noexcept {
    if (!found) find();
    return next;
}

bool malloc_comes_here() noexcept {
    static std::atomic<bool> came{false};
    static void* (*real)(std::size_t) = next_malloc().malloc;
    next.malloc = [](std::size_t bytes) {
        came = true;
        return real(bytes);
    };
    void* (*volatile call)(std::size_t) = &::malloc;
    void (*volatile end)(void*) = &::free;
    end(call(1));
    next.malloc = real;
    return came;
}

bool is_early(const void* block) noexcept {
    return reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(early) < sizeof early;
}

std::size_t early_bytes(const void* block) noexcept { return static_cast<std::size_t>(early + sizeof early - static_cast<const std::byte*>(block)); }

}  // namespace fanlight

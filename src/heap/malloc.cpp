// The C library's memory functions.  Long blocks lie in the arena, where peers can load from them; all others are passed
// on.  C++'s new and delete, Fortran's ALLOCATE and NumPy's arrays come here through malloc.
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "config/config.h"
#include "config/parse.h"
#include "heap/next_malloc.h"
#include "memory/arena.h"

#define EXPORTED extern "C" [[gnu::visibility("default")]]

extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[], _end[];

namespace fanlight {

namespace {

// Blocks from so many bytes on lie in the arena: none, until this library's constructor has run.
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
constinit std::size_t from = none;
constinit const char* why = "the program has not started yet";

// What this library allocates itself is not shared: it would come from within the arena's own functions.
bool is_own(const void* caller) {
    return caller >= static_cast<const void*>(__ehdr_start) && caller < static_cast<const void*>(_end);
}

bool in_arena(const void* block) { return arena::owns(block, 0); }

bool product(std::size_t count, std::size_t each, std::size_t& bytes) { return !__builtin_mul_overflow(count, each, &bytes); }

void* no_memory() {
    errno = ENOMEM;
    return nullptr;
}

void free_any(void* block) {
    if (in_arena(block)) arena::release(block);
    else if (!is_early(block)) next_malloc().free(block);
}

// To other memory, whichever has it now.
void* move(void* block, std::size_t had, void* to, std::size_t bytes) {
    if (!to) return nullptr;
    std::memcpy(to, block, had < bytes ? had : bytes);
    free_any(block);
    return to;
}

void* reallocated(void* block, std::size_t bytes, bool shared) {
    const NextMalloc& next = next_malloc();
    if (is_early(block)) return move(block, early_bytes(block), next.malloc(bytes), bytes);
    if (in_arena(block)) {
        if (bytes == 0) return arena::release(block), nullptr;
        if (shared)
            if (void* const resized = arena::resize(block, bytes)) return resized;
        const std::size_t had = arena::size_of(block);
        if (void* const moved = move(block, had, next.malloc(bytes), bytes)) return moved;
        return bytes <= had ? block : no_memory();
    }
    if (shared)
        if (void* const made = arena::allocate(bytes, 0, arena::Contents::any)) return block ? move(block, next.malloc_usable_size(block), made, bytes) : made;
    return next.realloc(block, bytes);
}

// Null where the arena does not take it.
void* aligned(std::size_t alignment, std::size_t bytes) {
    return std::has_single_bit(alignment) ? arena::allocate(bytes, alignment, arena::Contents::any) : nullptr;
}

std::size_t wanted_from() {
    const char* const text = ::secure_getenv("FANLIGHT_HEAP_FROM");
    // What is wrong with it the preload says, which reads all settings.
    const auto bytes = text && *text ? parse_bytes(text) : std::nullopt;
    return bytes && *bytes > 0 ? *bytes : Config{}.heap_from;
}

// Before it, the C library's malloc: the environment may not be there yet, and neither what this library is linked to.
[[gnu::constructor]] void begin() {
    const char* const wanted = ::secure_getenv("FANLIGHT_HEAP");
    if (wanted && parse_boolean(wanted) == false) why = "FANLIGHT_HEAP=off";
    else if (!next_malloc().is_libcs || !malloc_comes_here()) why = "another library's malloc serves this process";
    else why = "", from = wanted_from();
}

}  // namespace

}  // namespace fanlight

using namespace fanlight;

#define SHARED(bytes) __builtin_expect((bytes) >= from && !is_own(__builtin_return_address(0)), 0)

EXPORTED void* malloc(std::size_t bytes) {
    if (SHARED(bytes))
        if (void* const block = arena::allocate(bytes, 0, arena::Contents::any)) return block;
    return next_malloc().malloc(bytes);
}

EXPORTED void* calloc(std::size_t count, std::size_t each) {
    std::size_t bytes = 0;
    if (product(count, each, bytes) && SHARED(bytes))
        if (void* const block = arena::allocate(bytes)) return block;
    return next_malloc().calloc(count, each);
}

EXPORTED void* realloc(void* block, std::size_t bytes) { return reallocated(block, bytes, SHARED(bytes)); }

EXPORTED void* reallocarray(void* block, std::size_t count, std::size_t each) {
    std::size_t bytes = 0;
    return product(count, each, bytes) ? reallocated(block, bytes, SHARED(bytes)) : no_memory();
}

EXPORTED void free(void* block) { free_any(block); }

// C23's, which older C libraries lack.
EXPORTED void free_sized(void* block, std::size_t) { free_any(block); }
EXPORTED void free_aligned_sized(void* block, std::size_t, std::size_t) { free_any(block); }

EXPORTED int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
    if (SHARED(bytes) && alignment % sizeof(void*) == 0)
        if (void* const found = aligned(alignment, bytes)) return *block = found, 0;
    return next_malloc().posix_memalign(block, alignment, bytes);
}

#define ALIGNED(name, alignment, parameters, ...) \
    EXPORTED void* name parameters { \
        if (SHARED(bytes)) \
            if (void* const block = aligned(alignment, bytes)) return block; \
        return next_malloc().name(__VA_ARGS__); \
    }
ALIGNED(aligned_alloc, alignment, (std::size_t alignment, std::size_t bytes), alignment, bytes)
ALIGNED(memalign, alignment, (std::size_t alignment, std::size_t bytes), alignment, bytes)
ALIGNED(valloc, 4096, (std::size_t bytes), bytes)
ALIGNED(pvalloc, 4096, (std::size_t bytes), bytes)

EXPORTED std::size_t malloc_usable_size(void* block) {
    if (in_arena(block)) return arena::size_of(block);
    return is_early(block) ? early_bytes(block) : next_malloc().malloc_usable_size(block);
}

// For the preload: why long blocks are not shared, or nothing.
EXPORTED const char* fanlight_heap() { return why; }

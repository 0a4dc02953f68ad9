#include "collective/blocks_of_memory.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <string_view>

#include "collective/library.h"
#include "config/config.h"
#include "execute/lending.h"
#include "fanlight/collectives.h"
#include "memory/arena.h"

namespace fanlight::blocks_of_memory {

namespace {

// What is shorter is staged in any case.
bool is_large(std::size_t bytes) { return config().enabled && bytes >= std::max<std::size_t>(lent_from(), 4096); }

// False where it says anything but the alignment (MPI-4), which may be for the MPI library.
bool alignment_of(MPI_Info info, std::size_t& alignment) {
    alignment = 0;
    if (info == MPI_INFO_NULL) return true;
    constexpr const char* key = "mpi_minimum_memory_alignment";
    char value[32] = "";
    int keys = 0, found = 0;
    if (mpi().Info_get_nkeys(info, &keys) != MPI_SUCCESS) return false;
    if (keys == 0) return true;
    if (keys > 1 || mpi().Info_get(info, key, sizeof value - 1, value, &found) != MPI_SUCCESS || !found) return false;
    const std::string_view text(value);
    const auto [end, error] = std::from_chars(text.begin(), text.end(), alignment);
    return error == std::errc() && end == text.end() && std::has_single_bit(alignment);
}

// The blocks of the arena that were given out here.  With the shared heap it has others, malloc's, in which the MPI library's
// own may lie.
struct GivenOut {
    std::mutex mutex;
    std::set<void*> all;
};
GivenOut& given_out() {
    static GivenOut& g = *new GivenOut;  // never destroyed: programs free memory in their own static destructors
    return g;
}

void* new_block(std::size_t bytes, std::size_t alignment) {
    void* const block = arena::allocate(bytes, alignment);
    if (!block) return nullptr;
    try {
        const std::lock_guard lock(given_out().mutex);
        given_out().all.insert(block);
        return block;
    } catch (const std::bad_alloc&) {
        arena::release(block);
        return nullptr;
    }
}

}  // namespace

bool allocate(MPI_Aint bytes, MPI_Info info, void* baseptr) {
    std::size_t alignment;
    if (bytes < 0 || !baseptr || !is_large(static_cast<std::size_t>(bytes)) || !alignment_of(info, alignment)) return false;
    void* const block = new_block(static_cast<std::size_t>(bytes), alignment);
    if (block) *static_cast<void**>(baseptr) = block;
    return block != nullptr;
}

bool release(void* base) noexcept {
    if (!arena::owns(base, 1)) return false;
    {
        const std::lock_guard lock(given_out().mutex);
        if (given_out().all.erase(base) == 0) return false;
    }
    arena::release(base);
    return true;
}

}  // namespace fanlight::blocks_of_memory

using namespace fanlight;

extern "C" {

void* fanlight_alloc_mem(size_t bytes) {
    constexpr std::size_t line = 64;
    void* const block = blocks_of_memory::is_large(bytes) ? blocks_of_memory::new_block(bytes, 0) : nullptr;
    if (block || bytes > SIZE_MAX - line) return block;
    return std::aligned_alloc(line, std::max(bytes + line - 1, line) / line * line);
}

void fanlight_free_mem(void* block) {
    if (!blocks_of_memory::release(block)) std::free(block);
}

}  // extern "C"

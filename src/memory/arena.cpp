#include "memory/arena.h"

#include "memory/one_arena.h"
#include "memory/own_arena.h"

namespace fanlight::arena {

namespace {

constexpr ArenaFunctions own{
    [](std::size_t bytes, std::size_t alignment, Contents contents) noexcept { return OwnArena::here().allocate(bytes, alignment, contents); },
    [](void* block) noexcept { OwnArena::here().release(block); },
    [](void* block, std::size_t bytes) noexcept { return OwnArena::here().resize(block, bytes); },
    [](const void* block) noexcept { return OwnArena::here().size_of(block); },
    []() noexcept { return OwnArena::here().name(); },
    []() noexcept { return OwnArena::here().why(); },
};

const ArenaFunctions& functions() noexcept {
    const ArenaFunctions* first = fanlight_arena_0.functions.load(std::memory_order_acquire);
    if (first) return *first;
    return fanlight_arena_0.functions.compare_exchange_strong(first, &own, std::memory_order_acq_rel) ? own : *first;
}

}  // namespace

bool owns(const void* block, std::size_t bytes) noexcept {
    const std::size_t all = fanlight_arena_0.bytes.load(std::memory_order_acquire);
    const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(block) - fanlight_arena_0.base.load(std::memory_order_relaxed);
    return from < all && bytes <= all - from;
}

void* allocate(std::size_t bytes, std::size_t alignment, Contents contents) noexcept { return functions().allocate(bytes, alignment, contents); }
void release(void* block) noexcept { functions().release(block); }
void* resize(void* block, std::size_t bytes) noexcept { return functions().resize(block, bytes); }
std::size_t size_of(const void* block) noexcept { return functions().size_of(block); }
ArenaName name() noexcept { return functions().name(); }
const char* why() noexcept { return functions().why(); }

}  // namespace fanlight::arena

// The arena itself, as this library would have it (arena.h is for users, one_arena.h determines whose is used).
//
// It stands behind malloc, so nothing in it may wait for a lock that is held while malloc is called.  What it allocates
// itself is small, and comes back to the C library's malloc.
#pragma once

#include <pthread.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "memory/arena.h"
#include "memory/kept_blocks.h"
#include "memory/pages.h"
#include "memory/shared_file.h"

namespace fanlight {

class OwnArena {
public:
    static constexpr std::size_t page_bytes = 4096;

    static OwnArena& here() noexcept;

    void* allocate(std::size_t bytes, std::size_t alignment, arena::Contents) noexcept;
    void release(void* block) noexcept;
    void* resize(void* block, std::size_t bytes) noexcept;
    std::size_t size_of(const void* block) noexcept;
    ArenaName name() noexcept;
    const char* why() noexcept;

    // Around fork, in the thread that calls it (arena_fork.cpp).
    void before_fork() noexcept;
    void in_parent() noexcept;
    void in_child() noexcept;

private:
    // Taken again by the thread that has it: while that forks, the handlers of other libraries may come here.
    class Lock;

    bool made() noexcept;
    const char* make();
    bool has_file() const noexcept;
    bool reach(Page end) noexcept;
    bool afford(Page pages) noexcept;
    void* find(Page pages, Page alignment, Page to_grow, arena::Contents) noexcept;
    Page take(Page pages, Page alignment, Page to_grow, PageSet::Removed& dirty) noexcept;
    bool get_ready(Page first, Page pages, PageSet::Removed& dirty) noexcept;
    void free(Page block) noexcept;
    void freed(Page first, Page pages) noexcept;
    void keep() noexcept;
    void give_back() noexcept;
    const char* copy_to(const File&) noexcept;

    Page block_at(const void* block) const noexcept;
    void* address_of(Page page) const noexcept { return base_ + std::size_t{page} * page_bytes; }
    ArenaHeader& header() const noexcept { return *reinterpret_cast<ArenaHeader*>(base_); }

    pthread_mutex_t lock_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    enum class State { none, made, refused, lost } state_ = State::none;
    // It is asking for memory, or forking: what comes from the same thread now goes elsewhere.
    bool busy_ = false;

    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0, mapped_ = 0;
    int fd_ = -1;  // until the process ends
    std::uint64_t number_ = 0;
    struct stat file_{};
    // While it forks.
    int copy_ = -1, may_be_cancelled_ = 0;
    std::uint64_t copy_number_ = 0;

    KeptBlocks kept_;
    Pages pages_;
    PageSet dirty_;  // those of free extents that still have memory
    Page dirty_count_ = 0, dirty_most_ = 0;
    Page affordable_ = 0;  // so many pages may get memory before the machine is asked again

    const char* why_ = "";
};

}  // namespace fanlight

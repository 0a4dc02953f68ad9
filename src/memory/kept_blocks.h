// Blocks that have just been freed, one of each order of magnitude, for the next request of as many pages: no lock, and
// nothing to find or to count.  So a block that a loop allocates and frees is as cheap as the C library's.  The arena's
// tables count these blocks as in use.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "memory/pages.h"

namespace fanlight {

class KeptBlocks {
public:
    // Of longer ones none is kept; 0: of none.
    void keep_up_to(Page pages) noexcept { most_.store(pages, std::memory_order_relaxed); }

    // Takes the place of another one, which is to be freed then (0: of none); false: it is too long.
    bool put(Page block, Page pages, Page& other) noexcept {
        if (pages > most_.load(std::memory_order_relaxed)) return false;
        other = first(slot(pages).exchange(pack(block, pages), std::memory_order_acq_rel));
        return true;
    }
    // 0: there is none of this length.
    Page take(Page pages) noexcept {
        auto& here = slot(pages);
        std::uint64_t found = here.load(std::memory_order_relaxed);
        return found && static_cast<Page>(found) == pages && here.compare_exchange_strong(found, 0, std::memory_order_acq_rel) ? first(found) : 0;
    }
    // Calls free(block) for all.
    template <class Free>
    void empty(Free&& free) noexcept {
        for (auto& here : slots_)
            if (const Page block = first(here.exchange(0, std::memory_order_acq_rel))) free(block);
    }

private:
    static std::uint64_t pack(Page block, Page pages) { return std::uint64_t{block} << 32 | pages; }
    static Page first(std::uint64_t packed) { return static_cast<Page>(packed >> 32); }
    std::atomic<std::uint64_t>& slot(Page pages) noexcept { return slots_[std::bit_width(pages) % 32]; }

    std::atomic<Page> most_{0};
    std::atomic<std::uint64_t> slots_[32] = {};
};

}  // namespace fanlight

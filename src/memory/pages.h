// Which pages of a range belong to which block, and the free extents between the blocks.
//
// This knows nothing of the memory itself.  Its tables lie outside the range, in memory that exists only where it is used,
// 16 bytes for a page.  It allocates nothing else, so it can stand behind malloc.  For one thread at a time.
//
// A free extent is found by its length in constant time, as in TLSF (Masmano et al., 2004): lists of extents of about one
// length, eight to each power of two, and a bit for each list that is not empty.  Adjacent free extents are merged.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fanlight {

using Page = std::uint32_t;

// Zeroed memory for tables, which nothing is reserved for; null: no addresses left.
void* sparse_table(std::size_t bytes) noexcept;

class Pages {
public:
    static constexpr Page most = Page{1} << 30;

    // Of pages 1 up to `pages`; page 0 is nobody's.  False: no addresses for the tables.
    bool create(Page pages) noexcept;

    // A block; its first page is a multiple of `alignment`, a power of two.  0: no room.
    Page take(Page pages, Page alignment) noexcept;
    // Of a block that begins there.
    void give(Page block) noexcept;
    // Whether it could be made so long where it is; a shorter one always.
    bool resize(Page block, Page pages) noexcept;
    // How long the block is that begins there; 0: none does.  Of a block that nobody frees meanwhile, for any thread.
    Page length(Page block) const noexcept;
    // The first block at or behind the begin of a block or free extent; no pages: there is none.
    struct Block {
        Page first = 0, pages = 0;
    };
    Block next_block(Page from) const noexcept;
    // So many pages from the first have belonged to a block at some time.
    Page used() const noexcept { return used_; }

private:
    // Of an extent its first page's entry has the length and the place in a list, its last page's the length again.
    struct Entry {
        Page begins, ends, next, previous;
    };
    static constexpr Page in_use = Page{1} << 31;
    static constexpr unsigned lists = 256;

    void make(Page first, Page pages, bool use) noexcept;
    void forget(Page first, Page pages) noexcept;
    void insert(Page first, Page pages) noexcept;
    void remove(Page first, Page pages) noexcept;
    Page find(Page pages, Page alignment) const noexcept;
    Page free_at(Page first) const noexcept;
    Page free_before(Page end) const noexcept;

    Entry* of_ = nullptr;
    Page pages_ = 0, used_ = 0;
    Page heads_[lists] = {};
    std::uint64_t filled_[lists / 64] = {};
};

// A set of pages, as bits.  For one thread at a time.
class PageSet {
public:
    bool create(Page pages) noexcept;
    struct Run {
        Page first = 0, pages = 0;
    };
    // Returns how many were not in it.
    Page insert(Page first, Page pages) noexcept;
    // Removes those of so many pages; how many these were, and the shortest run that has all of them.
    struct Removed {
        Page count = 0;
        Run within;
    };
    Removed remove(Page first, Page pages) noexcept;
    // The last run before `end`; no pages: there is none.
    Run last(Page end) const noexcept;

private:
    std::uint64_t* bits_ = nullptr;
};

}  // namespace fanlight

#include "memory/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace fanlight {

namespace {

// Lengths up to 8 have a list each; longer ones share it with those of the same three bits behind their first.
unsigned list_of(Page pages) {
    if (pages < 8) return pages;
    const unsigned power = static_cast<unsigned>(std::bit_width(pages)) - 1;
    return (power - 2) * 8 + (pages >> (power - 3)) % 8;
}

// How many extents of the list that may be too short are looked at before a longer one is cut.
constexpr int looks = 8;

Page aligned(Page page, Page alignment) { return (page + alignment - 1) & ~(alignment - 1); }

}  // namespace

void* sparse_table(std::size_t bytes) noexcept {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

bool Pages::create(Page pages) noexcept {
    pages_ = std::min(pages, most);
    used_ = 1;
    // One more: behind the last extent begins none.
    of_ = static_cast<Entry*>(sparse_table((std::size_t{pages_} + 1) * sizeof(Entry)));
    return of_ != nullptr;
}

Page Pages::length(Page block) const noexcept {
    return block < pages_ && (of_[block].begins & in_use) ? of_[block].begins & ~in_use : 0;
}

Pages::Block Pages::next_block(Page from) const noexcept {
    while (from < used_ && !(of_[from].begins & in_use)) from += of_[from].begins;
    return from < used_ ? Block{from, of_[from].begins & ~in_use} : Block{};
}

Page Pages::free_at(Page first) const noexcept {
    return first < used_ && !(of_[first].begins & in_use) ? of_[first].begins : 0;
}

Page Pages::free_before(Page end) const noexcept {
    return end > 1 && !(of_[end - 1].ends & in_use) ? of_[end - 1].ends : 0;
}

void Pages::make(Page first, Page pages, bool use) noexcept {
    of_[first].begins = pages | (use ? in_use : 0);
    of_[first + pages - 1].ends = of_[first].begins;
}

void Pages::forget(Page first, Page pages) noexcept { of_[first].begins = of_[first + pages - 1].ends = 0; }

void Pages::insert(Page first, Page pages) noexcept {
    make(first, pages, false);
    const unsigned list = list_of(pages);
    of_[first].previous = 0;
    of_[first].next = heads_[list];
    if (heads_[list]) of_[heads_[list]].previous = first;
    heads_[list] = first;
    filled_[list / 64] |= std::uint64_t{1} << list % 64;
}

void Pages::remove(Page first, Page pages) noexcept {
    const Entry& e = of_[first];
    const unsigned list = list_of(pages);
    if (e.next) of_[e.next].previous = e.previous;
    if (e.previous) of_[e.previous].next = e.next;
    else if ((heads_[list] = e.next) == 0) filled_[list / 64] &= ~(std::uint64_t{1} << list % 64);
    forget(first, pages);
}

Page Pages::find(Page pages, Page alignment) const noexcept {
    const auto fits = [&](Page first) {
        const Page begin = aligned(first, alignment);
        return begin + pages <= first + of_[first].begins;
    };
    const unsigned own = list_of(pages);
    Page first = heads_[own];
    for (int i = 0; first && i < looks; ++i, first = of_[first].next)
        if (fits(first)) return first;
    // What is in the next lists is long enough, but for the alignment.
    for (unsigned list = own + 1; list < lists; ++list) {
        const std::uint64_t filled = filled_[list / 64] >> list % 64;
        if (filled == 0) {
            list |= 63;
            continue;
        }
        list += static_cast<unsigned>(std::countr_zero(filled));
        first = heads_[list];
        for (int i = 0; first && i < looks; ++i, first = of_[first].next)
            if (fits(first)) return first;
    }
    return 0;
}

Page Pages::take(Page pages, Page alignment) noexcept {
    if (pages == 0 || pages >= pages_ || alignment >= pages_) return 0;
    Page first = find(pages, alignment), had;
    if (first) {
        had = of_[first].begins;
        remove(first, had);
    } else {
        // At the end: what is free before it, and as much more as it takes.
        const Page before = free_before(used_);
        first = used_ - before;
        const Page end = aligned(first, alignment) + pages;
        if (end > pages_) return 0;
        if (before) remove(first, before);
        had = std::max(before, end - first);
        used_ = std::max(used_, end);
    }
    const Page begin = aligned(first, alignment), end = begin + pages;
    if (begin > first) insert(first, begin - first);
    if (first + had > end) insert(end, first + had - end);
    make(begin, pages, true);
    return begin;
}

void Pages::give(Page block) noexcept {
    Page first = block, pages = length(block);
    forget(block, pages);
    if (const Page behind = free_at(block + pages)) {
        remove(block + pages, behind);
        pages += behind;
    }
    if (const Page before = free_before(first)) {
        first -= before;
        remove(first, before);
        pages += before;
    }
    insert(first, pages);
}

bool Pages::resize(Page block, Page pages) noexcept {
    const Page had = length(block), end = block + had;
    if (pages > had) {
        const Page more = pages - had, behind = free_at(end);
        const bool last = end + behind == used_;
        if (pages >= pages_ || (behind < more && (!last || block + pages > pages_))) return false;
        forget(block, had);
        if (behind) remove(end, behind);
        used_ = std::max(used_, block + pages);
        if (behind > more) insert(block + pages, behind - more);
        make(block, pages, true);
    } else if (pages < had) {
        forget(block, had);
        make(block, pages, true);
        make(block + pages, had - pages, true);
        give(block + pages);
    }
    return true;
}

bool PageSet::create(Page pages) noexcept {
    bits_ = static_cast<std::uint64_t*>(sparse_table((std::size_t{pages} / 64 + 1) * sizeof *bits_));
    return bits_ != nullptr;
}

namespace {

// Most words have all or none; the processors that we are for need not have an instruction for the others.
Page count(std::uint64_t bits) { return bits == 0 ? 0 : bits == ~std::uint64_t{0} ? 64 : static_cast<Page>(std::popcount(bits)); }

// Calls f(word, mask of those of its bits that are meant, its first page).
template <class F>
void each_word(Page first, Page pages, F&& f) {
    for (Page at = first, end = first + pages; at < end;) {
        const Page bit = at % 64, n = std::min<Page>(64 - bit, end - at);
        f(at / 64, (n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1) << bit, at - bit);
        at += n;
    }
}

}  // namespace

Page PageSet::insert(Page first, Page pages) noexcept {
    Page more = 0;
    each_word(first, pages, [&](Page word, std::uint64_t mask, Page) {
        more += count(mask & ~bits_[word]);
        bits_[word] |= mask;
    });
    return more;
}

PageSet::Removed PageSet::remove(Page first, Page pages) noexcept {
    Removed removed;
    Page end = 0;
    each_word(first, pages, [&](Page word, std::uint64_t mask, Page base) {
        const std::uint64_t here = bits_[word] & mask;
        if (here == 0) return;
        if (removed.count == 0) removed.within.first = base + static_cast<Page>(std::countr_zero(here));
        end = base + static_cast<Page>(std::bit_width(here));
        removed.count += count(here);
        bits_[word] &= ~mask;
    });
    if (removed.count) removed.within.pages = end - removed.within.first;
    return removed;
}

PageSet::Run PageSet::last(Page end) const noexcept {
    // Downward: first past what is not in the set, then past what is.
    Page at = end;
    while (at > 0) {
        const Page bit = (at - 1) % 64;
        const std::uint64_t here = bits_[(at - 1) / 64] << (63 - bit);
        if (here) {
            at -= static_cast<Page>(std::countl_zero(here));
            break;
        }
        at -= bit + 1;
    }
    const Page past = at;
    while (at > 0) {
        const Page bit = (at - 1) % 64;
        const std::uint64_t missing = ~(bits_[(at - 1) / 64] << (63 - bit));
        const auto n = std::min<Page>(static_cast<Page>(std::countl_zero(missing)), bit + 1);
        at -= n;
        if (n <= bit) break;
    }
    return {at, past - at};
}

}  // namespace fanlight

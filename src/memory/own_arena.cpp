#include "memory/own_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "memory/huge_pages.h"
#include "memory/one_arena.h"
#include "topology/cores.h"
#include "topology/free_memory.h"

namespace fanlight {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
// The mapping grows by so much: what is mapped beyond what is used a core dump and mlockall would fill.
constexpr std::size_t step = 32 * mebibyte;

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

Page pages_in(std::size_t bytes) {
    constexpr std::size_t page_bytes = OwnArena::page_bytes;
    return bytes > std::size_t{Pages::most} * page_bytes ? Pages::most : static_cast<Page>(std::max(rounded(bytes, page_bytes) / page_bytes, std::size_t{1}));
}

// Where memory is promised to whoever asks for it and charged page by page, a page of a file that cannot be had ends the
// process (SIGBUS), while malloc would have said so before.
bool overcommits() {
    const File file(::open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC));
    char mode = '0';
    return !file || ::read(file.fd(), &mode, 1) != 1 || mode != '2';
}

// As much as the machine has, twice, since blocks leave gaps; of addresses that are limited a part.
std::size_t bytes_wanted() {
    std::size_t bytes = 2 * static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) bytes = std::min<std::size_t>(bytes, limit.rlim_cur / 8);
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) bytes = std::min<std::size_t>(bytes, limit.rlim_cur);
    return std::min(bytes, std::size_t{Pages::most} * OwnArena::page_bytes) / step * step;
}

class KeepErrno {
public:
    ~KeepErrno() { errno = kept_; }

private:
    int kept_ = errno;
};

}  // namespace

// A thread is not cancelled (pthread_cancel) in malloc, though files are read there.
class OwnArena::Lock {
public:
    explicit Lock(OwnArena& arena) noexcept : lock_(arena.lock_) {
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &may_be_cancelled_);
        ::pthread_mutex_lock(&lock_);
    }
    Lock(const Lock&) = delete;
    ~Lock() {
        ::pthread_mutex_unlock(&lock_);
        ::pthread_setcancelstate(may_be_cancelled_, nullptr);
    }

private:
    pthread_mutex_t& lock_;
    int may_be_cancelled_ = PTHREAD_CANCEL_ENABLE;
};

OwnArena& OwnArena::here() noexcept {
    constinit static OwnArena own;
    return own;
}

namespace {

// When the library is loaded: later somebody may be forking, and wait for a lock that we have.
[[gnu::constructor]] void watch_forks() {
    ::pthread_atfork([] { OwnArena::here().before_fork(); }, [] { OwnArena::here().in_parent(); }, [] { OwnArena::here().in_child(); });
}

}  // namespace

bool OwnArena::made() noexcept {
    if (state_ != State::none) return state_ == State::made;
    const KeepErrno as_it_was;
    busy_ = true;
    try {
        why_ = make();
    } catch (...) {
        why_ = "there is no memory for it";
    }
    busy_ = false;
    state_ = *why_ ? State::refused : State::made;
    if (*why_ && fd_ >= 0) ::close(std::exchange(fd_, -1));
    return state_ == State::made;
}

// Why there is none, or nothing.
const char* OwnArena::make() {
    if (::sysconf(_SC_PAGESIZE) != static_cast<long>(page_bytes)) return "this machine's pages have another size than 4 KiB";
    if (!overcommits()) return "vm.overcommit_memory=2 asks for memory that is there before it is used";
    bytes_ = bytes_wanted();
    if (bytes_ < 2 * step) return "a limit leaves it no addresses (ulimit -v) or no file of its size (ulimit -f)";
    std::error_code error;
    SharedFile file = make_unnamed_file(error);
    if (!file.file) return "the kernel gives this process no anonymous file (memfd_create): a filter forbids it, or too many files are open";
    fd_ = std::exchange(file.file, File()).release();
    number_ = file.number;
    if (::fstat(fd_, &file_) != 0 || ::ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) return "the kernel gives its file no size";
    base_ = static_cast<std::byte*>(reserve_addresses(bytes_));
    if (!base_) return "there are no addresses left for it";
    if (!pages_.create(static_cast<Page>(bytes_ / page_bytes)) || !dirty_.create(static_cast<Page>(bytes_ / page_bytes)) || !reach(1)) {
        ::munmap(base_, bytes_);
        return "there are no addresses left for it";
    }
    new (base_) ArenaHeader{ArenaHeader::expected, number_, mapped_};
    fanlight_arena_0.base.store(reinterpret_cast<std::uintptr_t>(base_), std::memory_order_relaxed);
    fanlight_arena_0.bytes.store(bytes_, std::memory_order_release);
    return "";
}

// A program may close files that it has not opened, and the number be another's by now.
bool OwnArena::has_file() const noexcept {
    struct stat now{};
    return ::fstat(fd_, &now) == 0 && now.st_ino == file_.st_ino && now.st_dev == file_.st_dev;
}

// Maps it as far as that.
bool OwnArena::reach(Page end) noexcept {
    const std::size_t wanted = std::size_t{end} * page_bytes;
    if (wanted <= mapped_) return true;
    const std::size_t to = std::min(rounded(wanted, step), bytes_);
    const KeepErrno as_it_was;
    if (!has_file() || ::mmap(base_ + mapped_, to - mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(mapped_)) == MAP_FAILED)
        return false;
    // Where the kernel has huge pages for those that ask alone.  Of all of it: what programs ask for, as NumPy does, would
    // else cut the mapping into many.
    ::madvise(base_ + mapped_, to - mapped_, MADV_HUGEPAGE);
    mapped_ = to;
    std::atomic_ref(header().used).store(to, std::memory_order_release);
    return true;
}

// Whether so many pages may get memory.  The machine is asked now and then: that takes it some ten microseconds.
bool OwnArena::afford(Page pages) noexcept {
    if (pages > affordable_) {
        const KeepErrno as_it_was;
        busy_ = true;
        std::size_t free = 0;
        try {
            free = free_memory();
        } catch (...) {
        }
        busy_ = false;
        // What is kept besides what is used, and what is taken unasked: a small part of it.
        const auto part = [free](std::size_t most, std::size_t least, std::size_t share) { return pages_in(std::clamp(free / share, least, most)); };
        dirty_most_ = part(128 * mebibyte, 4 * mebibyte, 128);
        keep();
        if (dirty_count_ > dirty_most_) give_back();
        if (free < std::size_t{pages} * page_bytes) return false;
        affordable_ = std::max(pages, part(256 * mebibyte, page_bytes, 16));
    }
    affordable_ -= pages;
    return true;
}

// That they can be used; `dirty` are those that are not zero.
bool OwnArena::get_ready(Page first, Page pages, PageSet::Removed& dirty) noexcept {
    if (!reach(first + pages)) return false;
    dirty = dirty_.remove(first, pages);
    dirty_count_ -= dirty.count;
    if (afford(pages - dirty.count)) return true;
    if (dirty.count) dirty_count_ += dirty_.insert(dirty.within.first, dirty.within.pages);
    return false;
}

// All of them together are less than twice the longest.
void OwnArena::keep() noexcept { kept_.keep_up_to(dirty_most_ / 8); }

void OwnArena::free(Page block) noexcept {
    const Page pages = pages_.length(block);
    pages_.give(block);
    freed(block, pages);
}

void OwnArena::freed(Page first, Page pages) noexcept {
    dirty_count_ += dirty_.insert(first, pages);
    if (dirty_count_ > dirty_most_) give_back();
}

// Some more than it must, so that it takes one call for many pages.  By madvise, which the MPI libraries' caches of
// registered memory watch: a network card must not write to a page that is no longer there.
void OwnArena::give_back() noexcept {
    const KeepErrno as_it_was;
    for (Page end = pages_.used(); dirty_count_ > dirty_most_ / 4 * 3;) {
        const PageSet::Run run = dirty_.last(end);
        if (run.pages == 0) break;
        end = run.first;
        if (::madvise(address_of(run.first), std::size_t{run.pages} * page_bytes, MADV_REMOVE) != 0) continue;  // locked in memory
        dirty_count_ -= dirty_.remove(run.first, run.pages).count;
        affordable_ += run.pages;
    }
}

// A block that can be used, or 0; where it can be with so much free behind it.
Page OwnArena::take(Page pages, Page alignment, Page to_grow, PageSet::Removed& dirty) noexcept {
    for (const Page more : {to_grow, Page{0}}) {
        const Page first = pages_.take(pages + more, alignment);
        if (first) pages_.resize(first, pages);
        if (first && get_ready(first, pages, dirty)) return first;
        if (first) pages_.give(first);
        kept_.empty([this](Page block) { free(block); });
    }
    return 0;
}

void* OwnArena::allocate(std::size_t bytes, std::size_t alignment, arena::Contents contents) noexcept {
    if (alignment > huge_page) return nullptr;  // to which its base is aligned
    return find(pages_in(bytes), pages_in(alignment), 0, contents);
}

void* OwnArena::find(Page pages, Page alignment, Page to_grow, arena::Contents contents) noexcept {
    PageSet::Removed dirty;
    Page first = alignment == 1 && to_grow == 0 ? kept_.take(pages) : 0;
    if (first) {
        dirty = {pages, {first, pages}};
    } else {
        const Lock lock(*this);
        if (busy_ || !made() || (first = take(pages, alignment, to_grow, dirty)) == 0) return nullptr;
    }
    void* const block = address_of(first);
    if (contents == arena::Contents::zeroed && dirty.count) {
        void* const from = address_of(dirty.within.first);
        const std::size_t all = std::size_t{dirty.within.pages} * page_bytes;
        const KeepErrno as_it_was;
        // Pages that have no memory get none.
        if (dirty.count >= dirty.within.pages / 2 || ::madvise(from, all, MADV_REMOVE) != 0) std::memset(from, 0, all);
    }
    return block;
}

// 0: none.
Page OwnArena::block_at(const void* block) const noexcept {
    const std::size_t offset = static_cast<std::size_t>(static_cast<const std::byte*>(block) - base_);
    return base_ && offset < bytes_ && offset % page_bytes == 0 && pages_.length(static_cast<Page>(offset / page_bytes)) ? static_cast<Page>(offset / page_bytes) : 0;
}

void OwnArena::release(void* block) noexcept {
    // What it has in the tables nobody else changes.
    Page first = block_at(block);
    if (first == 0 || (kept_.put(first, pages_.length(first), first) && first == 0)) return;
    const Lock lock(*this);
    if (state_ == State::made) free(first);
}

void* OwnArena::resize(void* block, std::size_t bytes) noexcept {
    const Page pages = pages_in(bytes);
    Page had = 0;
    {
        const Lock lock(*this);
        const Page first = block_at(block);
        if (first == 0 || state_ != State::made) return nullptr;
        had = pages_.length(first);
        if (pages <= had) {
            pages_.resize(first, pages);
            if (pages < had) freed(first + pages, had - pages);
            return block;
        }
        PageSet::Removed dirty;
        if (!busy_ && pages_.resize(first, pages)) {
            if (get_ready(first + had, pages - had, dirty)) return block;
            pages_.resize(first, had);
            return nullptr;
        }
    }
    void* const longer = find(pages, 1, pages, arena::Contents::any);
    if (!longer) return nullptr;
    std::memcpy(longer, block, std::size_t{had} * page_bytes);
    release(block);
    return longer;
}

std::size_t OwnArena::size_of(const void* block) noexcept {
    const Lock lock(*this);
    const Page first = block_at(block);
    return first ? std::size_t{pages_.length(first)} * page_bytes : 0;
}

ArenaName OwnArena::name() noexcept {
    const Lock lock(*this);
    if (busy_ || !made() || !has_file()) return {};
    return {static_cast<std::uint64_t>(::getpid()), pid_namespace(), static_cast<std::uint64_t>(fd_), number_,
            reinterpret_cast<std::uint64_t>(base_), bytes_};
}

const char* OwnArena::why() noexcept {
    const Lock lock(*this);
    return why_;
}

}  // namespace fanlight

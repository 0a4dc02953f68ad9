// The arena when the process forks.
//
// A child of fork would share the memory that is shared with peers.  So the parent copies what is in use to a second file
// before it forks, and the child maps that at the same addresses: the same contents, an arena of its own.  Nothing changes
// for the parent and its peers, and neither waits for the other.  Programs started by posix_spawn or vfork (system, popen,
// Python's subprocess) cause none of this.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "memory/own_arena.h"
#include "topology/free_memory.h"

namespace fanlight {

namespace {

// Of a file; where it has memory, by its own word.
off_t seek(int fd, off_t from, int what, off_t otherwise) {
    const off_t found = ::lseek(fd, from, what);
    return found < 0 ? otherwise : found;
}

bool write_all(int fd, const std::byte* from, std::size_t bytes, off_t at) {
    while (bytes > 0) {
        const ssize_t n = ::pwrite(fd, from, bytes, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        from += n, at += n, bytes -= static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace

// Why it could not, or nothing.
const char* OwnArena::copy_to(const File& copy) noexcept {
    struct stat facts{};
    if (!has_file() || ::fstat(fd_, &facts) != 0) return "the program has closed its file";
    const std::size_t had = static_cast<std::size_t>(facts.st_blocks) * 512, kept = std::size_t{dirty_count_} * page_bytes;
    std::size_t free = 0;
    try {
        free = free_memory();
    } catch (...) {
    }
    if (free < had - std::min(had, kept)) return "there is no memory for a copy";
    if (::ftruncate(copy.fd(), static_cast<off_t>(bytes_)) != 0) return "there is no file for a copy";
    for (Pages::Block block = pages_.next_block(1); block.pages; block = pages_.next_block(block.first + block.pages)) {
        const off_t begin = static_cast<off_t>(block.first) * static_cast<off_t>(page_bytes);
        const off_t end = begin + static_cast<off_t>(block.pages) * static_cast<off_t>(page_bytes);
        for (off_t at = begin; at < end;) {
            const off_t from = seek(fd_, at, SEEK_DATA, end);
            if (from >= end) break;
            const off_t to = std::min(seek(fd_, from, SEEK_HOLE, end), end);
            if (!write_all(copy.fd(), base_ + from, static_cast<std::size_t>(to - from), from)) return "there is no memory for a copy";
            at = to;
        }
    }
    const ArenaHeader same{ArenaHeader::expected, copy_number_, mapped_};
    return write_all(copy.fd(), reinterpret_cast<const std::byte*>(&same), offsetof(ArenaHeader, was_read), 0) ? "" : "there is no memory for a copy";
}

void OwnArena::before_fork() noexcept {
    int may_be_cancelled = 0;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &may_be_cancelled);
    ::pthread_mutex_lock(&lock_);
    may_be_cancelled_ = may_be_cancelled;
    busy_ = true;
    if (state_ != State::made) return;
    kept_.keep_up_to(0);
    kept_.empty([this](Page block) { free(block); });
    const char* problem = "there is no file for a copy";
    try {
        std::error_code error;
        SharedFile made = make_unnamed_file(error);
        copy_number_ = made.number;
        if (made.file && !*(problem = copy_to(made.file))) copy_ = made.file.release();
    } catch (...) {
    }
    static bool said = false;
    if (*problem && !std::exchange(said, true))
        std::fprintf(stderr, "fanlight: fork: the child may not touch large blocks of memory, which this process shares with its peers: %s\n", problem);
}

void OwnArena::in_parent() noexcept {
    if (copy_ >= 0) ::close(std::exchange(copy_, -1));
    busy_ = false;
    keep();
    const int may_be_cancelled = may_be_cancelled_;
    ::pthread_mutex_unlock(&lock_);
    ::pthread_setcancelstate(may_be_cancelled, nullptr);
}

void OwnArena::in_child() noexcept {
    // The thread that had locked it has another number here.
    lock_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    ::pthread_setcancelstate(may_be_cancelled_, nullptr);
    busy_ = false;
    if (state_ != State::made) return;
    if (has_file()) ::close(fd_);
    fd_ = std::exchange(copy_, -1);
    number_ = copy_number_;
    if (fd_ >= 0 && ::fstat(fd_, &file_) == 0 &&
        ::mmap(base_, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0) != MAP_FAILED) {
        // What was kept of free pages has not been copied.
        dirty_.remove(0, pages_.used());
        dirty_count_ = 0;
        keep();
        return;
    }
    kept_.empty([](Page) {});
    // Rather an end than the parent's memory.
    ::mmap(base_, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    state_ = State::lost;
    why_ = "this process is a child of fork, and there was no memory for a copy of its parent's";
}

}  // namespace fanlight

// A piece of POSIX shared memory that the processes of one node map together.
//
// It is really reserved (posix_fallocate), so that a small /dev/shm gives an error here and
// not SIGBUS later.  The name is removed as soon as everybody has mapped it.  Of a program that is
// killed before that it remains, until this user's next one removes it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <system_error>

namespace fanlight {

class Segment {
public:
    Segment() = default;
    Segment(Segment&&) noexcept;
    Segment& operator=(Segment&&) noexcept;
    ~Segment();

    // Makes one under a fresh name, zeroed; on failure `error` says why and it is empty.
    // huge: what is long enough for it gets huge pages, where the kernel has some.  That takes it
    // milliseconds, and saves the page faults of the first use.  later: what is used is reserved
    // before it is.
    enum class Pages { ordinary, huge, later };
    static Segment create(std::size_t bytes, std::error_code& error, Pages = Pages::ordinary);
    // Maps one that another process made.  A name that exists on this host but is another
    // host's (same name by chance) is refused: the name carries a random number that the
    // segment carries as well.
    static Segment open(const std::string& name, std::error_code& error);
    // This process's alone, zeroed; nothing is reserved.
    static Segment unshared(std::size_t bytes, std::error_code& error);

    explicit operator bool() const { return base_ != nullptr; }
    const std::string& name() const { return name_; }
    std::span<std::byte> bytes() const;   // what users may use: create's `bytes`
    // The first `bytes` of one that was made with Pages::later.
    std::error_code reserve(std::size_t bytes);
    void unlink();                        // the maker, once everybody has opened it

private:
    void* base_ = nullptr;
    std::size_t mapped_ = 0;
    std::string name_;
    bool owner_ = false;
    int later_ = -1;  // the descriptor, while not all is reserved
    int lock_ = -1;   // one that is locked, while the name is there: its maker lives
};

}  // namespace fanlight

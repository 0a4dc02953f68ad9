// A piece of shared memory that the processes of one node map together.
//
// It is really reserved (posix_fallocate), so too little memory gives an error here and not SIGBUS later.  No more is asked
// for than is free, because the kernel kills processes for what it cannot give.  As a rule it has no name in any file
// system (memfd_create): nothing is left of it whoever is killed, and a small /dev/shm does not matter.  The others open
// it in /proc, by its maker's descriptor.  If they may not (another pid namespace) it can be a file in /dev/shm, whose
// name is removed as soon as everybody has mapped it.  If a program is killed before that, the name remains until this
// user's next program removes it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <system_error>

#include "memory/shared_file.h"

namespace fanlight {

class Segment {
public:
    Segment() = default;
    Segment(Segment&&) noexcept;
    Segment& operator=(Segment&&) noexcept;
    ~Segment();

    // Makes one, zeroed; on failure `error` says why and it is empty.
    // huge: what is long enough for it gets huge pages, where the kernel has some.  That takes it
    // milliseconds, and saves the page faults of the first use.  later: what is used is reserved
    // before it is.  parts: by each process those that it owns, whose pages then lie where it runs.
    enum class Pages { ordinary, huge, later, parts };
    // anywhere: without a name where the kernel has that.
    enum class Place { anywhere, dev_shm };
    static Segment create(std::size_t bytes, std::error_code& error, Pages = Pages::ordinary, Place = Place::anywhere);
    // Maps one that another process made; cross_device_link where this process cannot reach its maker's files.  A
    // name that exists on this host but is another host's (same name by chance) is refused: the name carries a
    // random number that the segment carries as well.
    static Segment open(const std::string& name, std::error_code& error);
    // This process's alone, zeroed; nothing is reserved.
    static Segment unshared(std::size_t bytes, std::error_code& error);

    explicit operator bool() const { return base_ != nullptr; }
    const std::string& name() const { return name_; }
    std::span<std::byte> bytes() const;   // what users may use: create's `bytes`
    // Of one that was made with Pages::later; with Pages::parts before unlink().
    std::error_code reserve(std::size_t from, std::size_t bytes);
    void unlink();                        // all, once everybody has opened it

private:
    void* base_ = nullptr;
    std::size_t mapped_ = 0;
    std::string name_;
    bool has_name_ = false;  // in /dev/shm, of which this is the maker
    File file_;              // until everybody has opened it
    File later_;             // while not all is reserved
};

// The pages of a range that is mapped and not reserved; false: there is no memory for them, or the kernel (before Linux 5.14)
// cannot tell.
bool reserve_mapped(std::span<std::byte>);

}  // namespace fanlight

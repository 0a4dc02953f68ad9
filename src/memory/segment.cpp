#include "memory/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "memory/huge_pages.h"
#include "memory/shared_file.h"
#include "topology/free_memory.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace fanlight {

namespace {

// The first page; what users get begins behind it and is aligned to a page.
struct Header {
    std::uint64_t magic;
    std::uint64_t number;  // the random part of the name
    std::uint64_t mapped;  // the whole segment, this page included
};
constexpr std::size_t header_bytes = 4096;
constexpr std::uint64_t magic = 0x31'74'68'67'6c'6e'61'66;  // "fanlght1"

// Without MAP_POPULATE: it costs what the page faults at first use cost (1 us a page measured
// either way), and pays it for pages that are never used too.
void* map(int fd, std::size_t bytes, std::error_code& error) {
    void* const place = bytes >= long_enough ? reserve_addresses(bytes) : nullptr;
    void* const base = ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
    if (base != MAP_FAILED) return base;
    error = error_of(errno);
    if (place) ::munmap(place, bytes);
    return nullptr;
}

}  // namespace

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_, other.mapped_);
    std::swap(name_, other.name_);
    std::swap(has_name_, other.has_name_);
    std::swap(file_, other.file_);
    std::swap(later_, other.later_);
    return *this;
}

Segment::~Segment() {
    unlink();
    if (base_) ::munmap(base_, mapped_);
}

Segment Segment::create(std::size_t bytes, std::error_code& error, Pages pages, Place place) {
    error.clear();
    if (bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - 2 * header_bytes) {
        error = error_of(EFBIG);
        return {};
    }
    const std::size_t total = header_bytes + bytes;
    SharedFile shared = make_shared_file(place == Place::dev_shm, error);
    if (!shared.file) return {};
    Segment made;  // its destructor removes the name when something below fails
    made.name_ = shared.name;
    made.has_name_ = shared.in_dev_shm;
    made.file_ = std::move(shared.file);
    const bool later = pages == Pages::later, whole = !later && pages != Pages::parts;
    int why = beyond_limit(total) ? EFBIG : fanlight::reserve(made.file_, 0, whole ? total : header_bytes);
    if (why == 0 && !whole && ::ftruncate(made.file_.fd(), static_cast<off_t>(total)) != 0) why = errno;
    if (why == 0 && later) {
        made.later_ = File(::fcntl(made.file_.fd(), F_DUPFD_CLOEXEC, 0));
        if (!made.later_) why = errno;
    }
    if (why) {
        error = error_of(why);
        return {};
    }
    made.base_ = map(made.file_.fd(), total, error);
    if (!made.base_) return {};
    made.mapped_ = total;
    if (pages == Pages::huge && total >= long_enough) ask_for_huge_pages(made.base_, total);
    new (made.base_) Header{magic, shared.number, total};
    return made;
}

std::error_code Segment::reserve(std::size_t from, std::size_t bytes) {
    const File& file = later_ ? later_ : file_;
    const int why = file ? fanlight::reserve(file, header_bytes + from, bytes) : 0;
    return why ? error_of(why) : std::error_code{};
}

Segment Segment::open(const std::string& name, std::error_code& error) {
    SharedFile shared = find_shared_file(name, error);
    if (!shared.file) return {};
    struct stat facts{};
    if (::fstat(shared.file.fd(), &facts) != 0) {
        error = error_of(errno);
        return {};
    }
    // Another user could change its size under us, which is SIGBUS.
    if (facts.st_uid != ::geteuid()) {
        error = error_of(EACCES);
        return {};
    }
    if (facts.st_size < static_cast<off_t>(header_bytes)) {
        error = error_of(EBADMSG);
        return {};
    }
    Segment opened;
    const auto total = static_cast<std::size_t>(facts.st_size);
    opened.base_ = map(shared.file.fd(), total, error);
    if (!opened.base_) return {};
    opened.mapped_ = total;
    const auto& header = *static_cast<const Header*>(opened.base_);
    if (header.magic != magic || header.number != shared.number || header.mapped != total) {
        error = error_of(EBADMSG);
        return {};
    }
    opened.name_ = name;
    opened.file_ = std::move(shared.file);
    return opened;
}

bool reserve_mapped(std::span<std::byte> range) {
    return !range.empty() && free_memory() >= range.size() && ::madvise(range.data(), range.size(), MADV_POPULATE_WRITE) == 0;
}

Segment Segment::unshared(std::size_t bytes, std::error_code& error) {
    error.clear();
    Segment made;
    void* const base = ::mmap(nullptr, header_bytes + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        error = error_of(errno);
        return {};
    }
    made.base_ = base;
    made.mapped_ = header_bytes + bytes;
    return made;
}

std::span<std::byte> Segment::bytes() const {
    if (!base_) return {};
    return {static_cast<std::byte*>(base_) + header_bytes, mapped_ - header_bytes};
}

void Segment::unlink() {
    if (has_name_) ::shm_unlink(name_.c_str());
    has_name_ = false;
    file_.close();
}

}  // namespace fanlight

#include "memory/segment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

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

class File {
public:
    explicit File(int fd) : fd_(fd) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (fd_ >= 0) ::close(fd_);
    }
    int fd() const { return fd_; }
    int keep() { return std::exchange(fd_, -1); }

private:
    int fd_;
};

std::error_code failed(int number) { return {number, std::generic_category()}; }

std::string names_of_this_user() { return "/fanlight-" + std::to_string(::geteuid()) + "-"; }

std::string name_of(std::uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
    return names_of_this_user() + text;
}

bool number_of(const std::string& name, std::uint64_t& number) {
    const std::string_view all = name;
    if (!all.starts_with("/fanlight-") || all.find('/', 1) != all.npos) return false;
    const std::string_view hex = all.substr(all.rfind('-') + 1);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
    return hex.size() == 16 && error == std::errc{} && end == hex.data() + hex.size();
}

// Writing zeros reserves where the file system has no fallocate.  (glibc emulates it by
// itself, other C libraries report EOPNOTSUPP.)
int reserve_by_writing(int fd, off_t from, off_t to) {
    static constexpr char zeros[65536] = {};
    while (from < to) {
        const auto want = static_cast<std::size_t>(std::min<off_t>(to - from, sizeof zeros));
        const ssize_t n = ::pwrite(fd, zeros, want, from);
        if (n > 0) from += n;
        else if (n == 0) return ENOSPC;
        else if (errno != EINTR) return errno;
    }
    return 0;
}

// Beyond this limit the kernel would kill us by SIGXFSZ instead of returning an error.
bool beyond_limit(std::size_t bytes) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

int reserve(int fd, std::size_t bytes) {
    const auto end = static_cast<off_t>(bytes);
    // A signal makes the kernel give back all that a call has reserved so far: chunks make
    // sure that a profiler's timer cannot hold it up for ever.
    constexpr off_t chunk = off_t{16} << 20;
    for (off_t at = 0; at < end;) {
        const off_t length = std::min(chunk, end - at);
        const int error = ::posix_fallocate(fd, at, length);
        if (error == EINTR) continue;
        if (error == EOPNOTSUPP || error == ENOSYS) return reserve_by_writing(fd, at, end);
        if (error) return error;
        at += length;
    }
    return 0;
}

// Returns a descriptor of a new object, or -1 and why in `error`.
int make_object(std::uint64_t& number, std::string& name, std::error_code& error) {
    // A name that exists already is as good as impossible; three in a row are an attack.
    for (int attempt = 0; attempt < 3; ++attempt) {
        if (::getrandom(&number, sizeof number, 0) != sizeof number) {
            error = failed(errno);
            return -1;
        }
        name = name_of(number);
        const int fd = ::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
        if (fd >= 0) return fd;
        error = failed(errno);
        if (errno != EEXIST) return -1;
    }
    return -1;
}

// Whether it is this user's and its maker has ended: a maker holds a lock on it, which ends with the
// process, in whatever pid namespace that is.
bool is_left_behind(const std::string& name) {
    const File file(::shm_open(name.c_str(), O_RDWR, 0));
    struct stat facts{};
    if (file.fd() < 0 || ::fstat(file.fd(), &facts) != 0 || facts.st_uid != ::geteuid()) return false;
    // Between the making of one and its lock there is a moment.
    constexpr std::time_t young = 60;
    return std::time(nullptr) - facts.st_mtime > young && ::flock(file.fd(), LOCK_EX | LOCK_NB) == 0;
}

// Once in each process.
void remove_those_of_the_dead() {
    static std::atomic<pid_t> looked{0};
    if (const pid_t here = ::getpid(); looked.exchange(here) == here) return;
    const std::string ours = names_of_this_user();
    std::error_code error;
    for (std::filesystem::directory_iterator i("/dev/shm", error), end; !error && i != end; i.increment(error)) {
        const std::string name = "/" + i->path().filename().string();
        if (name.starts_with(ours) && is_left_behind(name)) ::shm_unlink(name.c_str());
    }
}

// What is long is mapped where huge pages may lie, and the kernel asked for them where the owner wants
// some: a stencil over ordinary ones runs at half to two thirds of its speed (apps/heat3d).  A "no"
// changes nothing.
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t long_enough = 4 * huge_page;
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // since Linux 6.1
#endif
void ask_for_huge_pages(void* base, std::size_t bytes) {
    ::madvise(base, bytes / huge_page * huge_page, MADV_COLLAPSE);
}

// Addresses for a mapping, which begin where a huge page does; null: wherever the kernel likes.
void* room_for_huge_pages(std::size_t bytes) {
    const std::size_t pages = (bytes + header_bytes - 1) / header_bytes * header_bytes;
    void* const room = ::mmap(nullptr, pages + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(room);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(room) % huge_page;
    if (before > 0) ::munmap(begin, before);
    ::munmap(begin + before + pages, huge_page - before);
    return begin + before;
}

// Without MAP_POPULATE: it costs what the page faults at first use cost (1 us a page measured
// either way), and pays it for pages that are never used too.
void* map(int fd, std::size_t bytes, std::error_code& error) {
    void* const place = bytes >= long_enough ? room_for_huge_pages(bytes) : nullptr;
    void* const base = ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
    if (base != MAP_FAILED) return base;
    error = failed(errno);
    if (place) ::munmap(place, bytes);
    return nullptr;
}

}  // namespace

Segment::Segment(Segment&& other) noexcept { *this = std::move(other); }

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_, other.mapped_);
    std::swap(name_, other.name_);
    std::swap(owner_, other.owner_);
    std::swap(later_, other.later_);
    std::swap(lock_, other.lock_);
    return *this;
}

Segment::~Segment() {
    unlink();
    if (base_) ::munmap(base_, mapped_);
    if (later_ >= 0) ::close(later_);
}

Segment Segment::create(std::size_t bytes, std::error_code& error, Pages pages) {
    error.clear();
    if (bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max()) - 2 * header_bytes) {
        error = failed(EFBIG);
        return {};
    }
    const std::size_t total = header_bytes + bytes;
    remove_those_of_the_dead();

    Segment made;  // its destructor removes the name when something below fails
    std::uint64_t number = 0;
    File file(make_object(number, made.name_, error));
    if (file.fd() < 0) return {};
    error.clear();
    made.owner_ = true;
    made.lock_ = ::fcntl(file.fd(), F_DUPFD_CLOEXEC, 0);
    ::flock(file.fd(), LOCK_SH | LOCK_NB);
    const bool later = pages == Pages::later;
    int why = beyond_limit(total) ? EFBIG : fanlight::reserve(file.fd(), later ? header_bytes : total);
    if (why == 0 && later && ::ftruncate(file.fd(), static_cast<off_t>(total)) != 0) why = errno;
    if (why) {
        error = failed(why);
        return {};
    }
    made.base_ = map(file.fd(), total, error);
    if (!made.base_) return {};
    made.mapped_ = total;
    if (pages == Pages::huge && total >= long_enough) ask_for_huge_pages(made.base_, total);
    new (made.base_) Header{magic, number, total};
    if (later) made.later_ = file.keep();
    return made;
}

std::error_code Segment::reserve(std::size_t bytes) {
    const int why = later_ >= 0 ? fanlight::reserve(later_, header_bytes + bytes) : 0;
    return why ? failed(why) : std::error_code{};
}

Segment Segment::open(const std::string& name, std::error_code& error) {
    error.clear();
    std::uint64_t number = 0;
    if (!number_of(name, number)) {
        error = failed(EINVAL);
        return {};
    }
    const File file(::shm_open(name.c_str(), O_RDWR, 0));
    struct stat facts{};
    if (file.fd() < 0 || ::fstat(file.fd(), &facts) != 0) {
        error = failed(errno);
        return {};
    }
    // Another user could change its size under us, which is SIGBUS.
    if (facts.st_uid != ::geteuid()) {
        error = failed(EACCES);
        return {};
    }
    if (facts.st_size < static_cast<off_t>(header_bytes)) {
        error = failed(EBADMSG);
        return {};
    }
    Segment opened;
    const auto total = static_cast<std::size_t>(facts.st_size);
    opened.base_ = map(file.fd(), total, error);
    if (!opened.base_) return {};
    opened.mapped_ = total;
    const auto& header = *static_cast<const Header*>(opened.base_);
    if (header.magic != magic || header.number != number || header.mapped != total) {
        error = failed(EBADMSG);
        return {};
    }
    opened.name_ = name;
    return opened;
}

Segment Segment::unshared(std::size_t bytes, std::error_code& error) {
    error.clear();
    Segment made;
    void* const base = ::mmap(nullptr, header_bytes + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        error = failed(errno);
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
    if (owner_) ::shm_unlink(name_.c_str());
    owner_ = false;
    if (lock_ >= 0) ::close(lock_);
    lock_ = -1;
}

}  // namespace fanlight

#include "memory/shared_file.h"

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
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "topology/free_memory.h"

namespace fanlight {

namespace {

std::string names_of_this_user() { return "/fanlight-" + std::to_string(::geteuid()) + "-"; }

std::string hexadecimal(std::uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
    return text;
}

bool number_of(std::string_view hex, std::uint64_t& number) {
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), number, 16);
    return hex.size() == 16 && error == std::errc{} && end == hex.data() + hex.size();
}

// What the kernel calls one without a name.
std::string memory_name(std::uint64_t number) { return "fanlight-" + hexadecimal(number); }

constexpr std::string_view memory_prefix = "memfd:";

bool draw(std::uint64_t& number, std::error_code& error) {
    if (::getrandom(&number, sizeof number, 0) == sizeof number) return true;
    error = error_of(errno);
    return false;
}

SharedFile make_without_name(std::uint64_t number, std::error_code& error) {
    SharedFile made;
    const std::string name = memory_name(number);
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u  // since Linux 6.3, which may demand it
#endif
    int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name.c_str(), MFD_CLOEXEC);
    if (fd < 0) {
        error = error_of(errno);
        return made;
    }
    made.file = File(fd);
    made.number = number;
    made.name = shared_file_name(::getpid(), fd, number);
    return made;
}

// Whether its maker is in this process's domain for shared memory: what shares a pid namespace alone may be
// meant for another host (tests/cluster).
bool shares_memory(const std::string& process) {
    struct stat own{}, theirs{};
    return ::stat("/proc/self/ns/ipc", &own) == 0 && ::stat((process + "/ns/ipc").c_str(), &theirs) == 0 &&
           own.st_ino == theirs.st_ino && own.st_dev == theirs.st_dev;
}

// The process id may be a stranger's: then there is no such file of this number.
File open_where_its_maker_has_it(std::string_view place, std::uint64_t number, std::error_code& error) {
    const std::size_t colon = place.find(':');
    const std::string process = "/proc/" + std::string(place.substr(0, colon));
    const std::string path = process + "/fd/" + std::string(place.substr(colon + 1));
    const std::string expected = "/memfd:" + memory_name(number);
    char found[64] = "";
    const ssize_t length = ::readlink(path.c_str(), found, sizeof found);
    error = error_of(EXDEV);
    if (length < 0 || !std::string_view(found, static_cast<std::size_t>(length)).starts_with(expected) || !shares_memory(process)) return File();
    File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file) error.clear();
    else if (errno == EMFILE || errno == ENFILE) error = error_of(errno);
    return file;
}

// Whether it is this user's and its maker has ended: a maker holds a lock on it, which ends with the
// process, in whatever pid namespace that is.
bool is_left_behind(const std::string& name) {
    const File file(::shm_open(name.c_str(), O_RDWR, 0));
    struct stat facts{};
    if (!file || ::fstat(file.fd(), &facts) != 0 || facts.st_uid != ::geteuid()) return false;
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

SharedFile make_in_dev_shm(std::uint64_t number, std::error_code& error) {
    remove_those_of_the_dead();
    SharedFile made;
    const std::string name = names_of_this_user() + hexadecimal(number);
    made.file = File(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
    if (!made.file) {
        error = error_of(errno);
        return made;
    }
    made.name = name;
    made.number = number;
    made.in_dev_shm = true;
    ::flock(made.file.fd(), LOCK_SH | LOCK_NB);
    return made;
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

}  // namespace

void File::close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

std::string shared_file_name(pid_t maker, int fd, std::uint64_t number) {
    std::string name(memory_prefix);
    return name.append(std::to_string(maker)).append(":").append(std::to_string(fd)).append(":").append(hexadecimal(number));
}

SharedFile make_shared_file(bool in_dev_shm, std::error_code& error) {
    // A name that exists already is as good as impossible; three in a row are an attack.
    for (int attempt = 0; attempt < 3; ++attempt) {
        error.clear();
        std::uint64_t number = 0;
        if (!draw(number, error)) return {};
        SharedFile made = in_dev_shm ? make_in_dev_shm(number, error) : make_without_name(number, error);
        if (made.file) return made;
        if (!in_dev_shm && (error == std::errc::too_many_files_open || error == std::errc::too_many_files_open_in_system ||
                            error == std::errc::not_enough_memory)) return {};
        // A kernel without it, or which forbids it.
        if (!in_dev_shm) in_dev_shm = true;
        else if (error != std::errc::file_exists) return {};
    }
    return {};
}

SharedFile make_unnamed_file(std::error_code& error) {
    error.clear();
    std::uint64_t number = 0;
    return draw(number, error) ? make_without_name(number, error) : SharedFile{};
}

SharedFile find_shared_file(const std::string& name, std::error_code& error) {
    error.clear();
    SharedFile found;
    const std::string_view all = name;
    const bool without_name = all.starts_with(memory_prefix);
    const std::size_t last = all.find_last_of(":-");
    if (last == all.npos || !number_of(all.substr(last + 1), found.number) ||
        (!without_name && (!all.starts_with("/fanlight-") || all.find('/', 1) != all.npos))) {
        error = error_of(EINVAL);
        return {};
    }
    if (without_name) {
        found.file = open_where_its_maker_has_it(all.substr(memory_prefix.size(), last - memory_prefix.size()), found.number, error);
    } else {
        found.file = File(::shm_open(name.c_str(), O_RDWR, 0));
        if (!found.file) error = error_of(errno);
    }
    found.name = name;
    return found;
}

bool beyond_limit(std::size_t bytes) {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

int reserve(const File& file, std::size_t from, std::size_t bytes) {
    if (beyond_limit(from + bytes)) return EFBIG;
    const auto end = static_cast<off_t>(from + bytes);
    // A signal makes the kernel give back all that a call has reserved so far: chunks make
    // sure that a profiler's timer cannot hold it up for ever.  Others may reserve some at the same time.
    constexpr off_t chunk = off_t{16} << 20;
    for (auto at = static_cast<off_t>(from); at < end;) {
        const off_t length = std::min(chunk, end - at);
        if (free_memory() < static_cast<std::size_t>(end - at)) return ENOMEM;
        const int error = ::posix_fallocate(file.fd(), at, length);
        if (error == EINTR) continue;
        if (error == EOPNOTSUPP || error == ENOSYS) return reserve_by_writing(file.fd(), at, end);
        if (error) return error;
        at += length;
    }
    return 0;
}

}  // namespace fanlight

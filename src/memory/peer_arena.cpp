#include "memory/peer_arena.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <system_error>

#include "topology/cores.h"

namespace fanlight {

namespace {

// As much of it as it can grow to before it must be mapped a second time, at other addresses.
constexpr std::size_t least_reserved = std::size_t{1} << 30;

// Calls one(bytes so far) until it has all; pread and pwrite may do a part, and a signal may come.
template <class One>
bool whole(std::size_t bytes, One&& one) {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t n = one(done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += static_cast<std::size_t>(n);
    }
    return true;
}

File open_file_of(const ArenaName& name) {
    if (name.bytes == 0 || name.pid_namespace == 0 || name.pid_namespace != pid_namespace()) return File();
    std::error_code error;
    SharedFile found = find_shared_file(shared_file_name(static_cast<pid_t>(name.pid), static_cast<int>(name.fd), name.number), error);
    struct stat facts{};
    // Another user could change its size under us, which is SIGBUS.
    if (!found.file || ::fstat(found.file.fd(), &facts) != 0 || facts.st_uid != ::geteuid() ||
        facts.st_size != static_cast<off_t>(name.bytes))
        return File();
    ArenaHeader header{};
    if (::pread(found.file.fd(), &header, sizeof header, 0) != sizeof header || header.magic != ArenaHeader::expected ||
        header.number != name.number)
        return File();
    return std::move(found.file);
}

}  // namespace

std::shared_ptr<PeerArena> PeerArena::find(const ArenaName& name) {
    // Never destroyed: groups may be while static objects are.
    static auto& mutex = *new std::mutex;
    static auto& known = *new std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<PeerArena>>;
    const std::lock_guard lock(mutex);
    if (const auto it = known.find({name.pid, name.number}); it != known.end())
        if (auto arena = it->second.lock()) return arena;
    File file = open_file_of(name);
    if (!file) return nullptr;
    std::erase_if(known, [](const auto& one) { return one.second.expired(); });
    std::shared_ptr<PeerArena> arena(new PeerArena(name, std::move(file)));
    known[{name.pid, name.number}] = arena;
    return arena;
}

PeerArena::PeerArena(const ArenaName& name, File&& file) : name_(name), file_(std::move(file)) {
    // Its own this process has mapped already.
    if (name.pid == static_cast<std::uint64_t>(::getpid()) && arena::owns(reinterpret_cast<void*>(name.base), name.bytes)) {
        base_ = reinterpret_cast<std::byte*>(name.base);
        mapped_ = name.bytes;
    }
}

PeerArena::~PeerArena() {
    for (const auto& [at, bytes] : mappings_) ::munmap(at, bytes);
}

std::uint64_t PeerArena::used() const noexcept {
    ArenaHeader header{};
    return ::pread(file_.fd(), &header, sizeof header, 0) == sizeof header ? header.used : 0;
}

// Addresses for so much, which nothing is mapped to yet.
bool PeerArena::reserve(std::size_t bytes) noexcept {
    for (const std::size_t some : {std::max(4 * bytes, least_reserved), bytes}) {
        const std::size_t length = std::min(some, static_cast<std::size_t>(name_.bytes));
        void* const at = ::mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) continue;
        try {
            mappings_.emplace_back(at, length);
        } catch (...) {
            ::munmap(at, length);
            return false;
        }
        reserved_ = length;
        return true;
    }
    return false;
}

bool PeerArena::map(std::uint64_t end) noexcept {
    const std::lock_guard lock(growing_);
    const std::uint64_t mapped = mapped_.load(std::memory_order_relaxed);
    if (end <= mapped) return true;
    if (no_addresses_) return false;
    const std::uint64_t to = std::min(std::max((end + 4095) / 4096 * 4096, used()), name_.bytes);
    const bool again = to > reserved_;
    if (again && !reserve(to)) return !(no_addresses_ = true);
    auto* const base = static_cast<std::byte*>(mappings_.back().first);
    const std::uint64_t from = again ? 0 : mapped;
    if (::mmap(base + from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.fd(), static_cast<off_t>(from)) == MAP_FAILED)
        return !(no_addresses_ = true);
    base_.store(base, std::memory_order_relaxed);
    mapped_.store(to, std::memory_order_release);
    return true;
}

bool PeerArena::read(std::uint64_t there, std::byte* here, std::size_t bytes) noexcept {
    const std::uint64_t from = there - name_.base;
    return whole(bytes, [&](std::size_t done) { return ::pread(file_.fd(), here + done, bytes - done, static_cast<off_t>(from + done)); });
}

bool PeerArena::write(std::uint64_t there, const std::byte* here, std::size_t bytes) noexcept {
    const std::uint64_t from = there - name_.base;
    if (beyond_limit(from + bytes)) return false;
    return whole(bytes, [&](std::size_t done) { return ::pwrite(file_.fd(), here + done, bytes - done, static_cast<off_t>(from + done)); });
}

}  // namespace fanlight

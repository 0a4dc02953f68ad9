// Another process's arena, as this process sees it.
//
// Open means that its file can be read and written here, at least by pread and pwrite.  It is mapped when first needed, as
// far as its owner has used it, and further when that has grown.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "memory/arena.h"
#include "memory/shared_file.h"

namespace fanlight {

class PeerArena {
public:
    // Null where this process cannot open it: another pid namespace, another user, it has ended.  One for each peer in a
    // process, whichever of its groups asks; closed when the last of them lets go.  Of this process's own as well.
    static std::shared_ptr<PeerArena> find(const ArenaName&);

    PeerArena(const PeerArena&) = delete;
    ~PeerArena();

    // Whether what its owner calls `there` lies in it.
    bool has(std::uint64_t there, std::size_t bytes) const noexcept {
        return there >= name_.base && there - name_.base <= name_.bytes && bytes <= name_.bytes - (there - name_.base);
    }
    // Where this process reaches what it has(); null where it has no addresses left for that, now and later.
    std::byte* at(std::uint64_t there, std::size_t bytes) noexcept {
        const std::uint64_t from = there - name_.base;
        // `base_` is set before `mapped_`, and what an older one says stays true.
        if (from + bytes <= mapped_.load(std::memory_order_acquire)) return base_.load(std::memory_order_relaxed) + from;
        return map(from + bytes) ? base_.load(std::memory_order_relaxed) + from : nullptr;
    }
    // Without addresses; false: not all of it could be had.
    bool read(std::uint64_t there, std::byte* here, std::size_t bytes) noexcept;
    bool write(std::uint64_t there, const std::byte* here, std::size_t bytes) noexcept;

private:
    PeerArena(const ArenaName&, File&&);
    bool map(std::uint64_t end) noexcept;
    bool reserve(std::size_t bytes) noexcept;
    std::uint64_t used() const noexcept;

    const ArenaName name_;
    const File file_;
    std::atomic<std::byte*> base_{nullptr};
    std::atomic<std::uint64_t> mapped_{0};
    std::mutex growing_;
    std::size_t reserved_ = 0;
    bool no_addresses_ = false;
    std::vector<std::pair<void*, std::size_t>> mappings_;  // the last one is in use; pointers into the others may be, too
};

}  // namespace fanlight

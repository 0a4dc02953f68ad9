// Another process's arena, as this process sees it.
//
// Open: its file can be read and written here, by pread and pwrite if by nothing else.  Mapped when it is first needed,
// and as far as its owner has used it; further when that has grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "memory/arena.h"

namespace fanlight {

class PeerArena {
public:
    // Null where this process cannot open it: another pid namespace, another user.  One for each peer in a process,
    // whichever of its groups asks.
    static std::shared_ptr<PeerArena> find(const ArenaName&);

    // Whether what its owner calls `there` lies in it.
    bool has(std::uint64_t there, std::size_t bytes) const noexcept {
        return there >= name_.base && there - name_.base <= name_.bytes && bytes <= name_.bytes - (there - name_.base);
    }
    // Where this process reaches it; null where it has no addresses left for that, now and later.
    std::byte* at(std::uint64_t there, std::size_t bytes) noexcept;
    // Without addresses; false: the owner has ended, or its memory has.
    bool read(std::uint64_t there, std::byte* here, std::size_t bytes) noexcept;
    bool write(std::uint64_t there, const std::byte* here, std::size_t bytes) noexcept;

private:
    ArenaName name_;
};

}  // namespace fanlight

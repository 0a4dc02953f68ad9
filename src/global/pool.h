// Local allocations: pieces of this unit's part of segment 0, which all units reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace fanlight::global {

// First fit, neighbors joined when freed.  Offsets, not addresses: it touches no memory.
class Pool {
public:
    // Pieces are multiples of `piece`.
    Pool(std::size_t bytes, std::size_t piece) : piece_(piece) { free_[0] = bytes; }

    std::optional<std::uint64_t> take(std::size_t bytes);
    bool give(std::uint64_t offset);  // false: not the start of a piece that was taken
    bool empty() const { return taken_.empty(); }

private:
    const std::size_t piece_;
    std::map<std::uint64_t, std::size_t> free_, taken_;  // start -> bytes
    std::mutex mutex_;
};

}  // namespace fanlight::global

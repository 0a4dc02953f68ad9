#include "global/pool.h"

namespace fanlight::global {

std::optional<std::uint64_t> Pool::take(std::size_t bytes) {
    if (bytes > SIZE_MAX / 2) return std::nullopt;
    bytes = bytes == 0 ? piece_ : (bytes + piece_ - 1) / piece_ * piece_;
    const std::scoped_lock lock(mutex_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        if (it->second < bytes) continue;
        const auto [offset, size] = *it;
        free_.erase(it);
        if (size > bytes) free_[offset + bytes] = size - bytes;
        taken_[offset] = bytes;
        return offset;
    }
    return std::nullopt;
}

bool Pool::give(std::uint64_t offset) {
    const std::scoped_lock lock(mutex_);
    const auto it = taken_.find(offset);
    if (it == taken_.end()) return false;
    auto here = free_.emplace(offset, it->second).first;
    taken_.erase(it);
    if (auto next = std::next(here); next != free_.end() && here->first + here->second == next->first) {
        here->second += next->second;
        free_.erase(next);
    }
    if (here != free_.begin())
        if (auto before = std::prev(here); before->first + before->second == here->first) {
            before->second += here->second;
            free_.erase(here);
        }
    return true;
}

}  // namespace fanlight::global

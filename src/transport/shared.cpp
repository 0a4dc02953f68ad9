#include "transport/shared.h"

#include <algorithm>

namespace fanlight {

namespace {
constexpr std::size_t page = 4096;
std::size_t pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }
}  // namespace

SharedLanes::SharedLanes(std::byte* base, int size, Room room) : base_(base), size_(static_cast<std::size_t>(size)) {
    // What grows with the square of the ranks is kept smaller for many.
    lanes_ = room == Room::one ? 4 : size <= 16 ? 32 : size <= 32 ? 16 : 8;
    depth_ = size <= 16 ? 4 : 2;
    areas_ = 4;
    staging_bytes_ = (size <= 32 ? 128 : 64) * 1024;
    puts_ = size_ * offers_per_operation * sizeof(Cell);
    channels_ = puts_ + size_ * size_ * static_cast<std::size_t>(depth_) * sizeof(Cell);
    registers_ = channels_ + size_ * size_ * sizeof(Channel);
    register_bytes_ = (size_ + 1023) / 1024 * 128;  // whole pairs of cache lines, as the cells
    lane_bytes_ = registers_ + size_ * register_bytes_ + skew;
    called_ = size_ * sizeof(Member);
    called_bytes_ = std::max<std::size_t>(lanes_ * sizeof(Called), 128);
    first_lane_ = pages(called_ + size_ * called_bytes_);
    first_area_ = pages(first_lane_ + lanes_ * lane_bytes_);
    bytes_ = pages(first_area_ + size_ * (areas_ * staging_bytes_ + skew));
}

std::size_t SharedLanes::bytes(int size, Room room) { return SharedLanes(nullptr, size, room).bytes_; }

}  // namespace fanlight

#include "transport/shared.h"

namespace fanlight {

namespace {
constexpr std::size_t page = 4096;
std::size_t pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }
}  // namespace

SharedLanes::SharedLanes(std::byte* base, int size) : base_(base), size_(static_cast<std::size_t>(size)) {
    lanes_ = 8;
    // The put cells grow with the square of the ranks: shallower channels for many.
    depth_ = size <= 16 ? 4 : 2;
    staging_bytes_ = size <= 32 ? 64 * 1024 : 32 * 1024;
    puts_ = size_ * offers_per_operation * sizeof(Cell);
    acks_ = puts_ + size_ * size_ * static_cast<std::size_t>(depth_) * sizeof(Cell);
    staging_ = pages(acks_ + size_ * size_ * 64);
    lane_bytes_ = pages(staging_ + size_ * staging_bytes_);
    first_lane_ = pages(size_ * sizeof(Member));
}

std::size_t SharedLanes::bytes(int size) {
    const SharedLanes l(nullptr, size);
    return l.first_lane_ + l.lanes_ * l.lane_bytes_;
}

}  // namespace fanlight

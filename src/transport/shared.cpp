#include "transport/shared.h"

#include <algorithm>

namespace fanlight {

namespace {

constexpr std::size_t page = 4096;

std::size_t whole(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// What a group of so many ranks has of each.  Up to 32 all is generous: lines are 128 bytes apart, since
// processors fetch them in pairs.  Beyond, memory follows the lines, of which there are ranks x ranks x slots.
struct Shape {
    int ranks;  // at most
    std::uint64_t slots, areas, posts;
    int depth;
    std::size_t cell, staging;
};
constexpr Shape shapes[] = {
    {16, 32, 4, 4, 4, 128, 128 << 10},
    {32, 16, 4, 4, 2, 128, 64 << 10},
    {64, 8, 4, 1, 1, 96, 24 << 10},   // lines of 128 bytes
    {128, 4, 4, 1, 1, 32, 12 << 10},  // of 64
    {256, 4, 4, 1, 1, 32, 8 << 10},
    {1 << 30, 2, 2, 1, 1, 32, 8 << 10},
};

}  // namespace

SharedSlots::SharedSlots(std::byte* base, int size, Capacity room) : base_(base), size_(static_cast<std::size_t>(size)) {
    const Shape& shape = *std::ranges::find_if(shapes, [&](const Shape& s) { return size <= s.ranks; });
    shared_slots_ = room == Capacity::one ? std::min<std::uint64_t>(shape.slots, size <= 32 ? 4 : 2) : shape.slots;
    areas_ = std::min(shape.areas, shared_slots_);
    posts_ = shape.posts;
    depth_ = shape.depth;
    cell_bytes_ = shape.cell;
    payload_bytes_ = cell_bytes_ - sizeof(Cell);
    staging_bytes_ = shape.staging;
    offer_bytes_ = std::max<std::size_t>(cell_bytes_, 64);
    const std::size_t channel = sizeof(std::uint64_t) + posts_ * sizeof(Channel::Post);
    line_bytes_ = whole(static_cast<std::size_t>(depth_) * cell_bytes_ + channel, cell_bytes_ < 128 ? 64 : 128);
    offers_ = whole(size_ * line_bytes_, 128);
    registers_ = whole(offers_ + offers_per_operation * offer_bytes_, 128);
    register_bytes_ = (size_ + 1023) / 1024 * 128;  // whole pairs of cache lines, as the cells
    slot_bytes_ = registers_ + register_bytes_;
    opened_ = whole(sizeof(Member) + shared_slots_ * sizeof(Called), 128);
    first_slot_ = opened_ + register_bytes_;
    first_area_ = whole(first_slot_ + (skews - 1) * skew + shared_slots_ * slot_bytes_, 128);
    part_bytes_ = whole(first_area_ + areas_ * staging_bytes_, page);
}

std::size_t SharedSlots::bytes(int size, Capacity room) { return static_cast<std::size_t>(size) * SharedSlots(nullptr, size, room).part_bytes_; }

}  // namespace fanlight

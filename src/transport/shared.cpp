#include "transport/shared.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace fanlight {

namespace {

constexpr std::size_t page = 4096;

std::size_t whole(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// What a group of so many ranks has of each.  Up to 32 all is generous: lines are 128 bytes apart, since
// processors fetch them in pairs.  Beyond, memory follows the lines: ranks x ranks x slots.
struct Shape {
    int ranks;  // at most
    std::uint64_t slots, areas, posts;
    int depth;
    std::size_t cell, staging;
};
constexpr Shape shapes[] = {
    {4, 32, 4, 4, 4, 128, 256 << 10},
    {16, 32, 4, 4, 4, 128, 128 << 10},
    {32, 16, 4, 4, 2, 128, 64 << 10},
    {64, 8, 4, 1, 1, 96, 24 << 10},   // lines of 128 bytes
    {128, 4, 4, 1, 1, 32, 12 << 10},  // of 64
    {256, 4, 4, 1, 1, 32, 8 << 10},
    {1 << 30, 2, 2, 1, 1, 32, 7 << 10},  // with a persistent operation's lines on whole pages
};

}  // namespace

SharedSlots::SharedSlots(std::byte* base, int size, Capacity room) : SharedSlots(base, size, room, Extent{}) {}

SharedSlots::SharedSlots(std::byte* base, int size, Capacity room, Extent extent)
    : base_(base), size_(static_cast<std::size_t>(size)), lines_(static_cast<std::size_t>(std::min(extent.peers, size))), offers_per_rank_(extent.offers) {
    const Shape& shape = *std::ranges::find_if(shapes, [&](const Shape& s) { return size <= s.ranks; });
    shared_slots_ = room == Capacity::one ? std::min<std::uint64_t>(shape.slots, size <= 32 ? 4 : size <= 256 ? 2 : 1) : shape.slots;
    areas_ = std::min(shape.areas, shared_slots_);
    posts_ = shape.posts;
    depth_ = shape.depth;
    cell_bytes_ = shape.cell;
    payload_bytes_ = cell_bytes_ - sizeof(Cell);
    later_areas_ = room == Capacity::one || size > 4 ? 0 : size > 2 ? 4 : 8;
    staging_bytes_ = shared_slots_ == 1 ? 2 * shape.staging : shape.staging;  // one area where others have two
    offer_bytes_ = std::max<std::size_t>(cell_bytes_, 64);
    const std::size_t channel = sizeof(std::uint64_t) + posts_ * sizeof(Channel::Post);
    line_bytes_ = whole(static_cast<std::size_t>(depth_) * cell_bytes_ + channel, cell_bytes_ < 128 ? 64 : 128);
    const std::size_t pair = cell_bytes_ < 128 && !has_all_lines() ? 64 : 128;
    offers_ = whole(lines_ * line_bytes_, pair);
    registers_ = whole(offers_ + static_cast<std::size_t>(offers_per_rank_) * offer_bytes_, pair);
    register_bytes_ = (size_ + 1023) / 1024 * 128;  // whole pairs of cache lines, as the cells
    slot_bytes_ = registers_ + register_bytes_;
    most_slots_ = shared_slots_ * (room == Capacity::one ? 1 : size <= 8 ? 4 : size <= 16 ? 2 : 1);
    opened_ = whole(sizeof(Member) + most_slots_ * sizeof(Called) + (has_all_lines() ? 0 : lines_ * sizeof(std::uint32_t)), pair);
    skews_ = has_all_lines() ? 16 : 1;  // few lines are not read by all in turn
    area_skew_ = size > 4 && has_all_lines() ? 5 * 128 : 0;  // many areas are read by one rank in turn
    first_area_ = whole(opened_ + register_bytes_, 128);
    first_slot_ = whole(first_area_ + (skews_ - 1) * area_skew_ + areas_ * staging_bytes_, 128);
    const auto behind_slots = [&](std::uint64_t slots) { return whole(first_slot_ + (skews_ - 1) * skew + slots * slot_bytes_, page); };
    reserved_bytes_ = behind_slots(shared_slots_);
    first_later_area_ = behind_slots(most_slots_);
    part_bytes_ = whole(first_later_area_ + later_areas_ * staging_bytes_, page);
}

void SharedSlots::find_lines(int rank, const Lines& lines) {
    rank_ = rank;
    here_.assign(size_, 0);
    there_.assign(size_, 0);
    const auto place = [&](int in, int of) {
        for (std::size_t k = 0; k < lines_; ++k)
            if (line_owner(in, k) == static_cast<std::uint32_t>(of) + 1) return static_cast<std::uint32_t>(k);
        throw std::logic_error("rank " + std::to_string(in) + " has no line for rank " + std::to_string(of));
    };
    for (const int p : lines.here) here_[static_cast<std::size_t>(p)] = place(rank, p);
    for (const int p : lines.there) there_[static_cast<std::size_t>(p)] = place(p, rank);
}

}  // namespace fanlight

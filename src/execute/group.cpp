#include "execute/group.h"

#include <stdexcept>

#include "execute/steps.h"

namespace fanlight {

namespace {

std::byte* checked(std::span<std::byte> segment, int size, SharedLanes::Room room) {
    const std::size_t needed = Group::segment_bytes(size, room);
    if (segment.size() >= needed) return segment.data();
    throw std::invalid_argument("a segment of " + std::to_string(segment.size()) + " bytes for " + std::to_string(size) +
                                " ranks, which need " + std::to_string(needed));
}

}  // namespace

Group::Group(std::span<std::byte> segment, int rank, int size, bool single_copy, Waiter::Hooks hooks,
             int ranks_on_node, int cores, SharedLanes::Room room, std::span<std::byte> scratch)
    : Planner(checked(segment, size, room), rank, size, single_copy, room, scratch),
      executor_(lanes_, rank, size, std::move(hooks), ranks_on_node, cores, scratch) {
    oversubscribed_ = waiter().oversubscribed();
    waiter().also_look([this] {
        if (doing_ != nothing) executor_.lockstep.compare(doing_);
    });
}

Group::~Group() = default;

std::size_t Group::segment_bytes(int size, SharedLanes::Room room) { return SharedLanes::bytes(size, room); }

void Group::run(const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    executor_.lockstep.check();
    bool lends = false;
    if (plan.whole) [[likely]] {
        const BoundSchedule& schedule = plan.parts.front().schedule;
        const std::uint64_t sequence = run_once(schedule, static_cast<const std::byte*>(input), static_cast<std::byte*>(output), combiner, plan, lends);
        return wait_for_readers(schedule, sequence, lends, plan);
    }
    if (plan.in_flight > 1) return run_in_flight(plan, input, output, combiner);
    if (plan.lengths) {
        Plan::Lengths& lengths = *plan.lengths;
        run_once(plan.parts.front().schedule, reinterpret_cast<const std::byte*>(lengths.told.data()), reinterpret_cast<std::byte*>(lengths.heard.data()), nullptr, plan, lends);
        bind_blocks(plan);
        const std::uint64_t sequence = run_once(lengths.blocks, static_cast<const std::byte*>(input), static_cast<std::byte*>(output), nullptr, plan, lends);
        return wait_for_readers(lengths.blocks, sequence, lends, plan);
    }
    // A rank that has no part in it may have no buffers.
    auto from = reinterpret_cast<std::uintptr_t>(input), to = reinterpret_cast<std::uintptr_t>(output);
    std::uint64_t last = 0;
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i) {
            last = run_once(part.schedule, reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to), combiner, plan, lends);
            // The next piece's scratch is the same memory.
            if (part.schedule.may_lend_scratch) wait_for_readers(part.schedule, last, lends, plan);
            from += plan.piece_bytes;
            to += plan.piece_bytes;
        }
    // Once for all: who is through with the last piece has read the ones before.
    for (const Plan::Part& part : plan.parts) wait_for_readers(part.schedule, last, lends, plan);
}

void Group::run(const Plan& plan, const Mapped& buffers, const Combiner* combiner) {
    executor_.lockstep.check();
    const auto own = static_cast<std::size_t>(rank_);
    std::size_t shift = 0;
    bool lends = false;
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i, shift += plan.piece_bytes) {
            const std::uint64_t sequence = run_once(part.schedule, buffers.input[own] + shift, buffers.output[own] + shift, combiner, plan, lends, &buffers, shift);
            wait_for_readers(part.schedule, sequence, lends, plan);
        }
}

std::uint64_t Group::run_once(const BoundSchedule& schedule, const std::byte* input, std::byte* output, const Combiner* combiner, const Plan& plan,
                              bool& lends, const Mapped* mapped, std::size_t shift) {
    const char* const name = plan.name.c_str();
    const ToTheEnd wait{waiter(), name};
    if (sequence_ == 0) executor_.meet();
    executor_.lockstep.write_down(doing_ = sequence_, plan.called);
    std::uint64_t sequence;
    executor_.lane_is_free(schedule, sequence_, sequence, wait);
    if (!mapped && scratch_.size() < schedule.scratch_bytes) scratch_.resize(schedule.scratch_bytes);
    std::byte* const scratch = mapped ? mapped_scratch_.data() + static_cast<std::size_t>(rank_) * room_for_scratch() : scratch_.data();
    Cursor cursor;
    const Executor::Frame frame{sequence, {const_cast<std::byte*>(input), output, scratch}, combiner, name, remote_.get(), mapped, shift};
    executor_.steps(schedule, frame, cursor, schedule.steps.size(), wait);
    lends |= cursor.lent > 0;
    count_lent(cursor);
    sequence_ = sequence + executor_.numbers(schedule);
    executor_.tell_done(sequence_);
    return sequence;
}

void Group::wait_for_readers(const BoundSchedule& schedule, std::uint64_t sequence, bool lends, const Plan& plan) {
    if (lends || schedule.has_direct_offers) [[unlikely]] executor_.was_read(schedule, sequence, lends, ToTheEnd{waiter(), plan.name.c_str()});
}

}  // namespace fanlight

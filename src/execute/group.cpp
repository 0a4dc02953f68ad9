#include "execute/group.h"

#include <stdexcept>

#include "execute/steps.h"
#include "memory/segment.h"

namespace fanlight {

namespace {

std::byte* checked(std::span<std::byte> segment, int size, SharedSlots::Capacity room) {
    const std::size_t needed = Group::segment_bytes(size, room);
    if (segment.empty() && room == SharedSlots::Capacity::one) return nullptr;  // Group::place
    if (segment.size() >= needed) return segment.data();
    throw std::invalid_argument("a segment of " + std::to_string(segment.size()) + " bytes for " + std::to_string(size) +
                                " ranks, which need " + std::to_string(needed));
}

}  // namespace

Group::Group(std::span<std::byte> segment, int rank, int size, bool single_copy, Waiter::Hooks hooks,
             int ranks_on_node, int cores, SharedSlots::Capacity room, std::span<std::byte> scratch)
    : Planner(checked(segment, size, room), rank, size, single_copy, room, scratch),
      executor_(shared_slots_, rank, size, std::move(hooks), ranks_on_node, cores, scratch) {
    if (segment.empty()) placed_ = 1;
    oversubscribed_ = waiter().oversubscribed();
    waiter().also_check([this] {
        if (doing_ != nothing) executor_.lockstep.compare(doing_);
    });
}

Group::~Group() = default;

void Group::place(std::span<std::byte> segment, SharedSlots::Extent extent) {
    shared_slots_ = SharedSlots(segment.data(), size_, SharedSlots::Capacity::one, extent);
    sequence_ = published_done_ = 0;
    doing_ = nothing;
    executor_.enter();
}

bool Group::reserve_more_slots() {
    const std::span<std::byte> more = shared_slots_.more_slots(rank_);
    return oversubscribed_ && !more.empty() && reserve_mapped(more);
}

void Group::take_more_slots() {
    shared_slots_.take_more_slots();
    executor_.enter();
}

void Group::introduce(const Plan& plan) {
    ++placed_;
    if (plan.parts.empty()) return executor_.lockstep.forget_call(sequence_);
    if (!shared_slots_.has_all_lines()) {
        const std::vector<int> peers = lines_of(plan).here;
        for (std::size_t k = 0; k < static_cast<std::size_t>(shared_slots_.extent().peers); ++k)
            shared_slots_.line_owner(rank_, k) = k < peers.size() ? static_cast<std::uint32_t>(peers[k]) + 1 : 0;
    }
    executor_.lockstep.record_call(sequence_, plan.called);
}

void Group::connect(Plan& plan) {
    plan.placed = placed_;
    if (plan.parts.empty()) return;
    executor_.lockstep.compare(sequence_);
    if (!shared_slots_.has_all_lines()) shared_slots_.find_lines(rank_, lines_of(plan));
    for (Plan::Part& part : plan.parts) fanlight::connect(part.schedule, rank_, shared_slots_);
}

std::size_t Group::segment_bytes(int size, SharedSlots::Capacity room) { return SharedSlots::bytes(size, room); }

void Group::run(const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    executor_.lockstep.check();
    if (plan.whole && !plan.ways) [[likely]]
        return run_once(plan.parts.front().schedule, static_cast<const std::byte*>(input), static_cast<std::byte*>(output), combiner, plan);
    or_leave([&] { run_in_parts(plan, input, output, combiner); });
}

void Group::run_in_parts(const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    if (plan.in_flight > 1) return run_in_flight(plan, input, output, combiner);
    if (plan.lengths) {
        Plan::Lengths& lengths = *plan.lengths;
        run_once(plan.parts.front().schedule, reinterpret_cast<const std::byte*>(lengths.told.data()), reinterpret_cast<std::byte*>(lengths.heard.data()), nullptr, plan);
        bind_blocks(plan);
        return run_once(lengths.blocks, static_cast<const std::byte*>(input), static_cast<std::byte*>(output), nullptr, plan);
    }
    // A rank that has no part in it may have no buffers.
    auto from = reinterpret_cast<std::uintptr_t>(input), to = reinterpret_cast<std::uintptr_t>(output);
    bool read_later = false;
    const bool timed = plan.ways && plan.ways->is_timed();
    const auto start = timed ? FasterWay::Clock::now() : FasterWay::Clock::time_point();
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i) {
            // The next piece's scratch is the same memory.
            run_once(part.schedule, reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to), combiner, plan,
                     part.schedule.may_lend_scratch ? nullptr : &read_later);
            from += plan.piece_bytes;
            to += plan.piece_bytes;
        }
    // Once for all: who is through with the last piece has read those before.
    for (const Plan::Part& part : plan.parts)
        if (read_later) wait_for_readers(part.schedule, plan, true);
    if (timed) plan.ways->took(FasterWay::Clock::now() - start);
    else if (plan.ways) plan.ways->was_not_timed();
}

void Group::run(const Plan& plan, const Mapped& buffers, const Combiner* combiner) {
    executor_.lockstep.check();
    const auto own = static_cast<std::size_t>(rank_);
    std::size_t shift = 0;
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i, shift += plan.piece_bytes)
            run_once(part.schedule, buffers.input[own] + shift, buffers.output[own] + shift, combiner, plan, nullptr, &buffers, shift);
}

// The steps inside of it, as they are of what every call runs.
[[gnu::flatten]] void Group::run_once(const BoundSchedule& schedule, const std::byte* input, std::byte* output, const Combiner* combiner, const Plan& plan,
                     bool* read_later, const Mapped* mapped, std::size_t shift) {
    const char* const name = plan.name.c_str();
    const ToTheEnd wait{waiter(), name};
    if (sequence_ == 0) executor_.meet();
    executor_.lockstep.record_call(doing_ = sequence_, plan.called);
    Cursor cursor(plan);
    executor_.slot_is_free(schedule, sequence_, cursor, wait);
    if (!mapped && scratch_.size() < schedule.scratch_bytes) [[unlikely]] or_leave([&] { scratch_.resize(schedule.scratch_bytes); });
    std::byte* const scratch = mapped ? mapped_scratch_.data() + static_cast<std::size_t>(rank_) * room_for_scratch() : scratch_.data();
    const Executor::Frame frame{sequence_, {const_cast<std::byte*>(input), output, scratch}, combiner, name, plan.remote, mapped, shift};
    executor_.steps(schedule, frame, cursor, schedule.steps.size(), wait);
    executor_.publish_done(++sequence_);
    if (cursor.lent == 0 && !schedule.has_direct_offers) [[likely]] return;
    count_lent(cursor);
    if (read_later) *read_later = true;
    else wait_for_readers(schedule, plan, cursor.lent > 0);
}

bool Group::all_leave(std::string_view name) {
    const std::uint64_t left = load(shared_slots_.member(rank_).left) + 1;
    store(shared_slots_.member(rank_).left, left);
    bool begun = false;
    waiter()(-1, std::string(name).c_str(), [&] {
        bool all = true;
        for (int r = 0; r < size_; ++r) {
            const auto has_left = [&] { return load(shared_slots_.member(r).left) >= left; };
            if (has_left()) continue;
            all = false;
            // Whoever has left meanwhile may have begun what comes next.
            begun |= load(shared_slots_.called(r, sequence_).taken) > sequence_ && !has_left();
        }
        return all || begun;
    });
    return !begun;
}

void Group::wait_for_readers(const BoundSchedule& schedule, const Plan& plan, bool lends) {
    executor_.was_read(schedule, sequence_ - 1, lends, ToTheEnd{waiter(), plan.name.c_str()});
}

}  // namespace fanlight

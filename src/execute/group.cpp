#include "execute/group.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "config/config.h"
#include "execute/copy.h"
#include "execute/steps.h"
#include "topology/cores.h"

namespace fanlight {

Group::Group(std::span<std::byte> segment, int rank, int size, bool single_copy, Waiter::Hooks hooks,
             int ranks_on_node, int cores, SharedLanes::Room room, std::span<std::byte> scratch)
    : Planner(segment.data(), rank, size, single_copy, room, scratch),
      waiter_(ranks_on_node > 0 ? ranks_on_node : size, std::move(hooks), cores),
      known_done_(static_cast<std::size_t>(size), 0),
      pids_(static_cast<std::size_t>(size), 0),
      seen_bits_(lanes_.lanes() * lanes_.register_words(), 0) {
    if (segment.size() < segment_bytes(size, room))
        throw std::invalid_argument("a segment of " + std::to_string(segment.size()) + " bytes for " +
                                    std::to_string(size) + " ranks, which need " +
                                    std::to_string(segment_bytes(size, room)));
    oversubscribed_ = waiter_.oversubscribed();
    store(lanes_.member(rank).pid_namespace, pid_namespace());
    store(lanes_.member(rank).pid, static_cast<std::uint64_t>(getpid()));
    waiter_.also_look([this] {
        if (doing_ != nothing) compare_calls(doing_);
    });
}

Group::~Group() = default;

std::size_t Group::segment_bytes(int size, SharedLanes::Room room) { return SharedLanes::bytes(size, room); }

void Group::meet() {
    const std::uint64_t own = load(lanes_.member(rank_).pid_namespace);
    std::vector<pid_t> watched;
    for (int r = 0; r < size_; ++r) {
        const SharedLanes::Member& member = lanes_.member(r);
        pids_[static_cast<std::size_t>(r)] = static_cast<pid_t>(load(member.pid));
        // Elsewhere the same number may be a stranger's, or nobody's.
        const bool known = own != 0 && load(member.pid_namespace) == own;
        watched.push_back(known ? pids_[static_cast<std::size_t>(r)] : 0);
    }
    waiter_.watch(watched, rank_);
    waiter_.share_cores(&lanes_.member(0).core, sizeof(SharedLanes::Member));
}

std::byte* Group::reached(const Frame& frame, int peer, std::uint64_t there) const {
    const std::size_t offset = there & ((std::uint64_t{1} << Frame::buffer_bits) - 1), p = static_cast<std::size_t>(peer);
    switch (static_cast<Buffer>((there >> Frame::buffer_bits) - 1)) {
        case Buffer::input: return frame.mapped->input[p] + frame.shift + offset;
        case Buffer::output: return frame.mapped->output[p] + frame.shift + offset;
        default: break;  // scratch
    }
    return mapped_scratch_.data() + p * room_for_scratch() + offset;
}

void Group::copy_once(Way way, const Frame& frame, int peer, std::byte* here, std::uint64_t there, std::size_t bytes) {
    if (frame.mapped) {
        std::byte* const theirs = reached(frame, peer, there);
        return way == Way::read ? copy_bytes(here, theirs, bytes) : copy_bytes(theirs, here, bytes);
    }
    const pid_t pid = pids_[static_cast<std::size_t>(peer)];
    while (bytes > 0) {
        const iovec mine{here, bytes};
        const iovec theirs{reinterpret_cast<void*>(there), bytes};
        const ssize_t n = way == Way::read ? process_vm_readv(pid, &mine, 1, &theirs, 1, 0)
                                           : process_vm_writev(pid, &mine, 1, &theirs, 1, 0);
        if (n <= 0) {
            if (n < 0 && errno == EINTR) continue;
            lost(peer, frame.name, n < 0 ? errno : EFAULT);
        }
        here += n;
        there += static_cast<std::uint64_t>(n);
        bytes -= static_cast<std::size_t>(n);
    }
}

// Piece by piece, each combined while it is still in this core's own cache.
void Group::read_and_combine(const BoundStep& s, const Frame& frame, std::uint64_t there, std::byte* to,
                             const std::byte* operand, std::size_t element) {
    const CombinerCall apply{frame.combiner};
    if (frame.mapped) {
        const std::byte* const theirs = reached(frame, s.peer, there);
        if (s.fused == Order::before) apply(operand, theirs, to, s.bytes);
        else if (s.fused == Order::after) apply(theirs, operand, to, s.bytes);
        else if (s.order == Order::before) apply(theirs, to, to, s.bytes);
        else apply(to, theirs, to, s.bytes);
        return;
    }
    // Smaller pieces cost more system calls, larger ones leave the cache: measured.
    const std::size_t cached_piece = own_cache() / 8;
    const std::size_t piece = std::max(cached_piece / element, std::size_t{1}) * element;
    if (s.fused == Order::overwrite && piece_.size() < piece) piece_.resize(piece);
    for (std::size_t i = 0; i < s.bytes; i += piece) {
        const std::size_t n = std::min(piece, s.bytes - i);
        if (s.fused != Order::overwrite) {
            copy_once(Way::read, frame, s.peer, to + i, there + i, n);
            if (s.fused == Order::before) apply(operand + i, to + i, to + i, n);
            else apply(to + i, operand + i, to + i, n);
        } else {
            copy_once(Way::read, frame, s.peer, piece_.data(), there + i, n);
            if (s.order == Order::before) apply(piece_.data(), to + i, to + i, n);
            else apply(to + i, piece_.data(), to + i, n);
        }
    }
}

void Group::run(const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    if (!out_of_step_.empty()) [[unlikely]] throw OutOfStep(out_of_step_);
    if (plan.whole) [[likely]]
        return run_once(plan.parts.front().schedule, static_cast<const std::byte*>(input), static_cast<std::byte*>(output), combiner, plan);
    if (plan.in_flight > 1) return run_in_flight(plan, input, output, combiner);
    if (plan.lengths) {
        Plan::Lengths& lengths = *plan.lengths;
        run_once(plan.parts.front().schedule, reinterpret_cast<const std::byte*>(lengths.told.data()), reinterpret_cast<std::byte*>(lengths.heard.data()), nullptr, plan);
        bind_blocks(plan);
        return run_once(lengths.blocks, static_cast<const std::byte*>(input), static_cast<std::byte*>(output), nullptr, plan);
    }
    // A rank that has no part in it may have no buffers.
    auto from = reinterpret_cast<std::uintptr_t>(input), to = reinterpret_cast<std::uintptr_t>(output);
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i) {
            run_once(part.schedule, reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to), combiner, plan);
            from += plan.piece_bytes;
            to += plan.piece_bytes;
        }
}

void Group::run(const Plan& plan, const Mapped& buffers, const Combiner* combiner) {
    if (!out_of_step_.empty()) [[unlikely]] throw OutOfStep(out_of_step_);
    const auto own = static_cast<std::size_t>(rank_);
    std::size_t shift = 0;
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i, shift += plan.piece_bytes)
            run_once(part.schedule, buffers.input[own] + shift, buffers.output[own] + shift, combiner, plan, &buffers, shift);
}

void Group::run_once(const BoundSchedule& schedule, const std::byte* input, std::byte* output,
                     const Combiner* combiner, const Plan& plan, const Mapped* mapped, std::size_t shift) {
    const char* const name = plan.name.c_str();
    const ToTheEnd wait{waiter_, name};
    if (sequence_ == 0) meet();
    write_down(doing_ = sequence_, plan.called);
    std::uint64_t sequence;
    lane_is_free(schedule, sequence_, sequence, wait);
    if (!mapped && scratch_.size() < schedule.scratch_bytes) scratch_.resize(schedule.scratch_bytes);
    std::byte* const scratch = mapped ? mapped_scratch_.data() + static_cast<std::size_t>(rank_) * room_for_scratch() : scratch_.data();
    std::size_t next = 0;
    const Frame frame{sequence, {const_cast<std::byte*>(input), output, scratch}, combiner, name, remote_.get(), mapped, shift};
    steps(schedule, frame, next, schedule.steps.size(), wait);
    sequence_ = sequence + numbers(schedule);
    store(lanes_.member(rank_).done, sequence_);
    if (schedule.has_direct_offers) was_read(schedule, sequence, wait);
}

// --- ranks that call different things --------------------------------------------------

void Group::write_down(std::uint64_t taken, std::uint64_t what) {
    SharedLanes::Called& mine = lanes_.called(rank_, taken);
    if (load(mine.taken) == taken + 1) return;
    store(mine.taken, 0);  // until `what` is there
    store(mine.what, what);
    store(mine.taken, taken + 1);
}

// Whether another one is in this very operation by another call.
void Group::compare_calls(std::uint64_t taken) {
    const SharedLanes::Called& mine = lanes_.called(rank_, taken);
    if (load(mine.taken) != taken + 1) return;  // not begun
    for (int r = 0; r < size_; ++r) {
        if (load(lanes_.member(r).out_of_step))
            out_of_step("rank " + std::to_string(r) + " has found that the ranks of this communicator call different collectives");
        const SharedLanes::Called& theirs = lanes_.called(r, taken);
        // It may be writing the next one down there, between any two looks.
        if (load(theirs.taken) != taken + 1) continue;
        const std::uint64_t what = load(theirs.what);
        if (load(theirs.taken) != taken + 1 || what == load(mine.what)) continue;
        out_of_step("rank " + std::to_string(r) + " calls " + call_text(what) + " where rank " + std::to_string(rank_) +
                    " calls " + call_text(load(mine.what)));
    }
}

// Who finds it is the reader, or the writer of a block that is written straight into the other's memory.
void Group::wrong_length(int peer, bool peer_sends, std::size_t sent, std::size_t expected, const char* name, bool more_sent, bool more_expected) {
    const auto says = [&](bool sends) { return "rank " + std::to_string(sends == peer_sends ? peer : rank_); };
    const auto text = [](bool more, std::size_t bytes) { return (more ? "more than " : "") + std::to_string(bytes); };
    out_of_step(says(true) + " sends " + text(more_sent, sent) + " bytes where " + says(false) + " expects " +
                text(more_expected, expected) + " from it in " + name);
}

void Group::out_of_step(const std::string& message) {
    store(lanes_.member(rank_).out_of_step, 1);
    throw OutOfStep(out_of_step_ = message);
}

// It can be read no more: it died, or somebody forbade it on the way.
[[noreturn]] void Group::lost(int peer, const char* name, int error) {
    waiter_.fail("rank " + std::to_string(rank_) + " cannot read the memory of rank " +
                 std::to_string(peer) + " in " + name + ": " + std::strerror(error) +
                 " (FANLIGHT_SINGLE_COPY=off avoids process_vm_readv)");
}

}  // namespace fanlight

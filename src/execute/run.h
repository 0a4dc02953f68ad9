// An operation in flight: which plan, on which buffers, and how far it has come (Group::start, Group::advance).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "execute/operators.h"
#include "execute/plan.h"
#include "transport/remote.h"

namespace fanlight {

// The operator of a reduction, on packed elements: into = left (+) right, where `into` may be
// the same memory as `left` or `right` (never a part of it).  `bytes` is a multiple of the
// problem's element.
struct Combiner {
    ApplyFunction apply = nullptr;
    const void* context = nullptr;

    void operator()(const void* left, const void* right, void* into, std::size_t bytes) const { apply(left, right, into, bytes, context); }
};

// Buffers that every member has mapped: where this process reaches each member's.
struct Mapped {
    std::span<std::byte* const> input, output;
};

// How far a run of a schedule is.
struct Cursor {
    Cursor() = default;
    explicit Cursor(const Plan& plan) {
        if (plan.ways && plan.ways->is_second()) (plan.second_way == Plan::SecondWay::few_places ? in_few_places : copies_along) = true;
    }

    std::size_t step = 0;  // the next one
    std::size_t lent = 0;  // messages, which others may still read where they lie
    std::byte* staging = nullptr;  // where it begins, in its areas
    bool in_few_places = false;    // it stages in one place of each of the first areas
    bool copies_along = false;     // and past the caches, if the next step is a copy: both at the same time
};

class Executor;

struct Run {
    bool finished = false;
    bool mismatched = false;  // so it was finished; its result is worth nothing
    int waits_for = -1;  // the member that it looked at last, in vain

    // What may throw, while nobody else knows of the run: later it is advanced where nobody listens.
    void reserve(const Plan& plan) {
        if (pieces_.size() < plan.in_flight) pieces_.resize(plan.in_flight);
        for (const Plan::Part& part : plan.parts)
            for (Piece& piece : pieces_)
                if (piece.scratch.size() < part.schedule.scratch_bytes) piece.scratch.resize(part.schedule.scratch_bytes);
    }

    // What reserve() has reserved for the first piece.
    std::byte* scratch() { return pieces_.front().scratch.data(); }

private:
    friend class Group;
    friend class Executor;

    // A piece of the plan that is in flight, an operation of its own.
    struct Piece {
        const BoundSchedule* schedule = nullptr;
        const std::byte* input = nullptr;
        std::byte* output = nullptr;
        std::uint64_t sequence = 0;
        Cursor cursor;
        bool has_slot = false;
        bool read_by_others = false;  // its own steps are done, some may still read its input
        bool over = false;
        std::vector<std::byte> scratch;
        std::unique_ptr<RemoteTransport> remote;  // its messages
    };
    Piece& piece(std::uint64_t number) { return pieces_[number % plan_->in_flight]; }
    // The operations with lower numbers are over, as far as others wait for this member.
    std::uint64_t done() {
        for (std::uint64_t k = over_; k < begun_; ++k)
            if (!piece(k).read_by_others) return piece(k).sequence;
        return taken_;
    }

    const Plan* plan_ = nullptr;
    Combiner combiner_;
    std::vector<Piece> pieces_;
    std::uint64_t begun_ = 0, over_ = 0;   // how many pieces; those between are in flight
    // The next piece: its buffers, its number, which part of the plan, and which of its repeats.  All have the
    // numbers up to `end_`.
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
    std::uint64_t taken_ = 0, end_ = 0;
    std::size_t part_ = 0, repeated_ = 0;
    std::uint64_t first_message_slot_ = 0;
};

}  // namespace fanlight

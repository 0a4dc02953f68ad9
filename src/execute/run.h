// An operation under way: which plan, on which buffers, and how far it is (Group::start,
// Group::advance).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/plan.h"

namespace fanlight {

// The operator of a reduction, on packed elements: into = left (+) right, where `into` may be
// the same memory as `left` or `right` (never a part of it).  `bytes` is a multiple of the
// problem's element.
struct Combiner {
    void (*apply)(const void* left, const void* right, void* into, std::size_t bytes,
                  const void* context) = nullptr;
    const void* context = nullptr;
};

// Buffers that every member has mapped: where this process reaches each member's.
struct Mapped {
    std::span<std::byte* const> input, output;
};

class Group;

struct Run {
    bool finished = false;
    bool out_of_step = false;  // so it was finished; its result is worth nothing
    int waits_for = -1;  // the member that it looked at last, in vain

    // What may throw, while nobody else knows of the run: later it is advanced where nobody listens.
    void reserve(const Plan& plan) {
        for (const Plan::Part& part : plan.parts)
            if (scratch_.size() < part.schedule.scratch_bytes) scratch_.resize(part.schedule.scratch_bytes);
    }

private:
    friend class Group;

    const Plan* plan_ = nullptr;
    const std::byte* input_ = nullptr;
    std::byte* output_ = nullptr;
    Combiner combiner_;
    // Its pieces have the operation numbers up to `end_`; those before `taken_` are over, and the
    // current one's is `sequence_`.
    std::uint64_t taken_ = 0, sequence_ = 0, end_ = 0;
    std::size_t part_ = 0, repeated_ = 0;  // the piece: which part of the plan, and which of its repeats
    std::size_t step_ = 0;                 // the next one of this piece
    bool read_by_others_ = false;          // its own steps are done, some may still read its input
    std::vector<std::byte> scratch_;
};

}  // namespace fanlight

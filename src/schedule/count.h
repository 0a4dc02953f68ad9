// What a collective costs in steps and bytes, over all ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/topology.h"

namespace fanlight {

// Puts and gets that carry bytes, and those that carry none (signals).
struct Traffic {
    std::size_t messages = 0;
    std::size_t signals = 0;
    std::size_t bytes = 0;

    friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct Counts {
    Traffic all;
    // For each level of the topology: what leaves a domain of it.  Level 0: between nodes.
    std::vector<Traffic> between;
    // Within ranks: bytes copied by copy, and bytes combined by any step.
    std::size_t copied = 0;
    std::size_t combined = 0;
    // The most rounds that a rank has.
    std::size_t rounds = 0;
    // The longest chain of messages and signals each of which waits for the one before it:
    // the critical path, in messages.
    std::size_t depth = 0;

    friend bool operator==(const Counts&, const Counts&) = default;
};

// Throws std::invalid_argument if the schedules do not belong together or deadlock, or
// the topology is not of these ranks.
Counts count(std::span<const Schedule> schedules, const Topology& topology = {});

}  // namespace fanlight

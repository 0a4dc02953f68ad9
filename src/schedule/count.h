// What a collective costs in steps and bytes, over all ranks.
#pragma once

#include <cstddef>
#include <span>

#include "schedule/schedule.h"

namespace fanlight {

struct Counts {
    // Puts and gets that carry bytes, and those that carry none (signals).
    std::size_t messages = 0;
    std::size_t signals = 0;
    std::size_t bytes = 0;
    // The same between different nodes only.
    std::size_t messages_between_nodes = 0;
    std::size_t signals_between_nodes = 0;
    std::size_t bytes_between_nodes = 0;
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

// node_of[r] is rank r's node; empty: all ranks are on one node.  Throws
// std::invalid_argument if the schedules do not belong together or come to a deadlock.
Counts count(std::span<const Schedule> schedules, std::span<const int> node_of = {});

}  // namespace fanlight

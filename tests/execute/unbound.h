// What bound schedules do, told in the language again, so that the verifier proves what is really run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "execute/exchange.h"
#include "execute/plan.h"
#include "schedule/schedule.h"

namespace fanlight::testing {

struct Unbound {
    // Each step is a round of its own, since the executor does one after the other.  What it waits for
    // besides (that a long put is posted, that a cell or a long put's source is free) is an offer of no
    // bytes, and the wait a get.  A put waits for nothing else (Puts::free).
    std::vector<Schedule> schedules;
    // Where two ranks do not mean the same cell, or two messages the same staging.
    std::vector<std::string> faults;
};

// Those of all ranks, for one piece.
Unbound unbound(std::span<const BoundSchedule* const>, const SharedLanes&);

// Those that run over messages, in their rounds; the ranks of all are 0, 1, ...
std::vector<Schedule> unbound(std::span<const Exchange>);

}  // namespace fanlight::testing

// What bound schedules do, told in the language again, so that the verifier proves what is really run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "execute/plan.h"
#include "schedule/schedule.h"

namespace fanlight::testing {

struct Unbound {
    // Each step is a round of its own, since the executor does one after the other.  What it waits for
    // besides (that a long put is posted, that a cell or a long put's source is free) is an offer of no
    // bytes, and the wait a get.  A put waits for nothing else (Puts::free).  A message that is put on its
    // way is a put, or an offer to its one reader; that its receiver is ready for it, without which MPI need
    // not end the send, is an offer as well.
    std::vector<Schedule> schedules;
    // Where two ranks do not mean the same cell, or two messages the same staging.
    std::vector<std::string> faults;
};

// Those of all ranks, for one piece; `slots` of each rank's group.  `lent`: whatever may be is lent, or nothing is.
Unbound unbound(std::span<const BoundSchedule* const>, std::span<const SharedSlots* const> slots, const Reach& = {}, bool lent = false);

}  // namespace fanlight::testing

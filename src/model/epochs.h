// What windows add to a schedule between nodes: one-sided epochs, as in the RMA papers.
#pragma once

#include <span>
#include <vector>

#include "schedule/schedule.h"

namespace fanlight {

// A fence ends each round: every rank goes on when all have come to it.
std::vector<Schedule> fenced(std::span<const Schedule>);
// Each put is a round of its own: the lock, the put and the unlock of one target come before those of the next.  What
// else a round has follows behind.
std::vector<Schedule> one_by_one(std::span<const Schedule>);

}  // namespace fanlight

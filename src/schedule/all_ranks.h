// All ranks' schedules of one collective together, as the verifier, the counter, the cost
// model and the drawing need them.
#pragma once

#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

// The problem as this rank knows it.  `whole` is the problem as the root knows it: for
// gatherv and scatterv every block; a rank that is not the root keeps its own length alone.
Problem problem_at(const Problem& whole, int rank);

std::vector<Schedule> schedules_of_all(Schedule (*algorithm)(const Problem&), const Problem& whole);

}  // namespace fanlight

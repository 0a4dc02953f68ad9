// Operations that send from and receive into one buffer, as MPI_Bcast.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace fanlight {

// The input of each is its output: what the schedule copies from one to the same place of the other stays where it is.
std::vector<Schedule> in_one_buffer(std::vector<Schedule>);

}  // namespace fanlight

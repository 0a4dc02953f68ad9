// Steps and ranges in words, for messages.
#pragma once

#include <string>

#include "schedule/schedule.h"

namespace fanlight {

std::string to_string(Buffer);
// "output[8,16)"
std::string describe(Address, std::size_t bytes);
// "put to rank 1 (output[0,8) into its scratch[0,8))"
std::string describe(const Step&);
// "rank 2, round 3" (both count from 0)
std::string place(int rank, std::size_t round);

}  // namespace fanlight

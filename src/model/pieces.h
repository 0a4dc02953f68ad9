// A long message that goes in pieces: a few of them are run and stand for all.
#pragma once

#include <span>
#include <vector>

#include "model/simulate.h"

namespace fanlight {

// Of each rank the same schedule so many times, one behind the other.
std::vector<Schedule> in_a_row(std::span<const Schedule>, int times);

// simulate() of what is given, without looking at Transfer::pieces but for the length of the buffers.
Simulation simulate_given(std::span<const Schedule>, const Machine&, const Placement&, const Transfer&, bool spans);

}  // namespace fanlight

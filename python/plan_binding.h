// Saved plans for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

void bind_plans(nanobind::module_&);
// Of a SavedPlan.
std::vector<Schedule> schedules_of_plan(nanobind::handle plan, const Problem&);

}  // namespace fanlight

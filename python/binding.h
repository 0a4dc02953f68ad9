// What the parts of fanlight._core share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

// The cost model.
void bind_model(nanobind::module_&);

// An algorithm's function is only called for problems that its restrictions allow.
const Algorithm& named_for(std::string_view name, const Problem&);
// Of all ranks, by a row of the catalogue, a file that has been read, or a SavedPlan.
std::vector<Schedule> schedules_by(nanobind::handle algorithm, const Problem&);
std::string kind_text(StepKind);

}  // namespace fanlight

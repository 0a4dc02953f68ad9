// Saved plans for Python: algorithms as text (schedule/saved_plan.h), before they are in a file.
#include "plan_binding.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "schedule/saved_plan.h"
#include "schedule/topology.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace fanlight {

void bind_plans(nb::module_& m) {
    nb::class_<SavedPlan>(m, "SavedPlan", "An algorithm as text: the schedules of all ranks")
        .def(nb::init<std::string_view>(), "text"_a, "ValueError that names the line and what is wrong")
        .def_prop_ro("operation", [](const SavedPlan& p) { return to_string(p.operation()); })
        .def_prop_ro("name", &SavedPlan::name)
        .def_prop_ro("hash", &SavedPlan::hash)
        .def("restriction", &SavedPlan::restriction, "problem"_a, "Why it is not meant for this problem; empty if it is")
        .def_static("with_hash", &SavedPlan::with_hash, "text"_a, "The text as a file has it");
    m.def("domains", [](std::string_view topology, int ranks) {
        std::vector<std::vector<std::vector<int>>> levels;
        const Topology all = Topology::from(topology, ranks);
        for (const Domains& level : all.all()) {
            auto& domains = levels.emplace_back();
            for (int i = 0; i < level.count(); ++i) domains.emplace_back(level.members(i).begin(), level.members(i).end());
        }
        return levels;
    }, "topology"_a, "ranks"_a, "The ranks of each domain, from the outermost level to the innermost");
}

std::vector<Schedule> schedules_of_plan(nb::handle plan, const Problem& p) {
    const SavedPlan& saved = nb::cast<const SavedPlan&>(plan);
    if (const std::string why = saved.restriction(p); !why.empty()) throw std::invalid_argument(saved.name() + ": " + why);
    return saved.schedules(p);
}

}  // namespace fanlight

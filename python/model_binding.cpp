// The cost model for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>

#include "binding.h"
#include "execute/planner.h"
#include "model/epochs.h"
#include "model/one_buffer.h"
#include "model/simulate.h"
#include "schedule/all_ranks.h"
#include "schedule/describe.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace fanlight {
namespace {

// Plans as a program does, on one node, and runs nothing.
class DryPlanner : public Planner {
public:
    DryPlanner(int rank, int ranks, bool single_copy) : Planner(nullptr, rank, ranks, single_copy, SharedSlots::Capacity::many, {}) {}
};

// What a rank makes of it in a program; throws std::invalid_argument where that would go to the MPI library.
struct Planned {
    Plan plan;
    std::size_t schedules = 0, steps = 0;  // that were made for it, also of other ranks
};
Planned planned(std::string_view name, const Problem& whole, bool single_copy) {
    static thread_local Planned result;
    static thread_local Schedule (*made)(const Problem&);
    const Problem p = problem_at(whole, whole.rank);
    Algorithm counted = named_for(name, p);
    made = counted.schedule;
    result = {};
    counted.schedule = [](const Problem& part) {
        Schedule s = made(part);
        ++result.schedules;
        result.steps += s.steps.size();
        return s;
    };
    DryPlanner(p.rank, p.size, single_copy).plan(counted, p, result.plan);
    return std::move(result);
}

// In how many pieces a program would run it.
double pieces(nb::handle algorithm, const Problem& whole, bool single_copy, std::size_t& bytes) {
    const std::size_t length = bytes = length_of(whole);
    if (!nb::isinstance<nb::str>(algorithm) || length == 0 || lengths_are_unknown(whole.operation)) return 1;
    try {
        bytes = planned(nb::cast<std::string_view>(algorithm), whole, single_copy).plan.piece_bytes;
    } catch (const std::invalid_argument&) {
        return 1;
    }
    return static_cast<double>(length) / static_cast<double>(bytes);
}

// As a program calls it.
std::vector<Schedule> as_called(nb::handle algorithm, const Problem& p) {
    std::vector<Schedule> schedules = schedules_by(algorithm, p);
    return p.operation == Operation::bcast ? in_one_buffer(std::move(schedules)) : schedules;
}

// What travels before: nothing, or the blocks' lengths.
std::vector<Schedule> before(nb::handle algorithm, const Problem& p) {
    if (!nb::isinstance<nb::str>(algorithm)) return {};
    const Algorithm& a = named_for(nb::cast<std::string_view>(algorithm), p);
    return lengths_travel(a, p) ? schedules_of_all(lengths_first(a)->schedule, lengths_of(a, p)) : std::vector<Schedule>{};
}

nb::dict simulated(nb::handle algorithm, const Problem& p, const Machine& machine, int nodes, Transfer transfer, Transport transport, bool with_spans) {
    const Placement places(machine, p.size, nodes);
    Problem piece = p;
    if (places.domains(0) == 1) {
        std::size_t bytes = 0;
        transfer.pieces = pieces(algorithm, p, transfer.copied_once <= total_bytes(p), bytes);
        if (transfer.pieces > 1) piece = piece_of(p, bytes, 0);
    }
    std::vector<Schedule> schedules = as_called(algorithm, piece);
    if (transport == Transport::rma_fence) schedules = fenced(schedules);
    if (transport == Transport::rma_lock) schedules = one_by_one(schedules);
    transfer.locks = transport == Transport::rma_lock;
    const std::vector<Schedule> lengths = before(algorithm, p);
    Simulation s;
    {
        nb::gil_scoped_release release;
        s = simulate(schedules, machine, places, transfer, with_spans);
        const double first = lengths.empty() ? 0 : simulate(lengths, machine, places, {.inlined = transfer.inlined, .copied_once = SIZE_MAX}).seconds;
        s.seconds += first;
        for (double& finish : s.finish) finish += first;
        for (Span& x : s.spans)
            for (double* time : {&x.begin, &x.ready, &x.end}) *time += first;
    }
    nb::dict d;
    d["seconds"] = s.seconds;
    d["finish"] = s.finish;
    d["pieces"] = transfer.pieces;
    nb::list spans;
    for (const Span& x : s.spans)
        spans.append(nb::make_tuple(x.rank, x.round, kind_text(x.kind), x.peer, x.bytes, x.begin, x.ready, x.end));
    d["spans"] = spans;
    return d;
}

}  // namespace

void bind_model(nb::module_& m) {
    m.def("cost", [](nb::handle algorithm, const Problem& p) {
        const Machine machine = machine_named("generic");
        const Placement places = p.topology.levels() > 0 ? Placement(machine, p.topology.level(0)) : Placement(machine, p.size);
        return simulate(as_called(algorithm, p), machine, places).seconds;
    }, "algorithm"_a, "problem"_a, "Seconds by the model (orders of magnitude, nothing measured)");
    m.def("machines", &machines, "The machines that come with Fanlight: name and text");
    nb::class_<Machine>(m, "Machine", "As the cost model sees it")
        .def("__init__", [](Machine* self, std::string_view name, std::string_view text) {
                 new (self) Machine(text.empty() ? machine_named(name) : Machine::from(name, text));
             }, "name"_a, "text"_a = "")
        .def_ro("name", &Machine::name)
        .def_ro("about", &Machine::about)
        .def_prop_ro("network", [](const Machine& machine) {
                 const Machine::Level& node = machine.levels.front();
                 nb::dict d;
                 d["latency"] = node.latency;
                 d["overhead"] = node.overhead;
                 d["link"] = node.link;
                 d["eager"] = node.eager;
                 d["memory"] = machine.memory_of_node();
                 return d;
             }, "Between nodes, and what a node's memory delivers: seconds, bytes, bytes per second")
        .def_prop_ro("cores", &Machine::cores_of_node, "of a node; 0: any number")
        .def("topology", [](const Machine& machine, int ranks, int nodes) { return Placement(machine, ranks, nodes).topology().text(); },
             "ranks"_a, "nodes"_a = 0, "All levels on which the ranks are apart, as a program finds them")
        .def("topologies", [](const Machine& machine, int ranks, int nodes) {
                 std::vector<std::pair<std::string, std::string>> result;
                 for (const Radices& r : topologies(machine, Placement(machine, ranks, nodes))) result.emplace_back(r.topology, r.radices);
                 return result;
             }, "ranks"_a, "nodes"_a = 0, "What algorithms by levels may be told of it: the text of a topology, and its radices");
    m.def("plan", [](std::string_view algorithm, const Problem& p, bool single_copy) {
        const Planned made = planned(algorithm, p, single_copy);
        nb::dict d;
        d["piece"] = made.plan.piece_bytes;
        d["schedules"] = made.schedules;
        d["steps"] = made.steps;
        return d;
    }, "algorithm"_a, "problem"_a, "single_copy"_a = true,
       "What problem.rank makes of it in a program on one node: the bytes of a piece, and how many schedules and steps are made for "
       "that.  ValueError where the group's memory forbids it: there a program goes to the MPI library");
    m.def("simulate", [](nb::handle algorithm, const Problem& p, const Machine& machine, int nodes, std::optional<std::size_t> inlined,
                         std::size_t copied_once, bool own_pages, bool asks_ahead, std::string_view transport, bool with_spans) {
        const int on = Placement(machine, p.size, nodes).domains(0);
        return simulated(algorithm, p, machine, nodes,
                         {.inlined = inlined.value_or(SharedSlots(nullptr, (p.size + on - 1) / on).payload_bytes()),
                          .copied_once = copied_once, .own_pages = own_pages, .asks_ahead = asks_ahead}, transport_from(transport), with_spans);
    }, "algorithm"_a, "problem"_a, "machine"_a, "nodes"_a = 0, "inlined"_a = nb::none(),
       "copied_once"_a = Transfer{}.copied_once, "own_pages"_a = false, "asks_ahead"_a = false, "transport"_a = "shared", "spans"_a = false,
       "Seconds on a machine, in all and for each rank; in how many pieces; inlined: None as many bytes as the cells of so many ranks on "
       "a node hold; spans: (rank, round, step, peer, bytes, begin, ready, end)");
}

}  // namespace fanlight

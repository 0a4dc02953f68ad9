// fanlight._core: the core that has no MPI in it, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "algorithms/level_names.h"
#include "algorithms/registry.h"
#include "binding.h"
#include "config/config.h"
#include "config/mpi_libraries.h"
#include "schedule/all_ranks.h"
#include "schedule/count.h"
#include "schedule/describe.h"
#include "schedule/draw.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"
#include "schedule/verify.h"
#include "execute/wait.h"
#include "plan_binding.h"
#include "select/rule.h"
#include "select/select.h"
#include "topology/cores.h"
#include "topology/fingerprint.h"
#include "topology/single_copy.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace fanlight;

namespace {

const Algorithm& named(std::string_view operation, std::string_view name) {
    const Operation op = operation_from(operation);
    if (const Algorithm* found = find_algorithm(op, name)) return *found;
    std::string message = "no algorithm '" + std::string(name) + "' for " + std::string(operation) + "; there are";
    for (const Algorithm& a : algorithms())
        if (a.operation == op) message += " " + std::string(a.name);
    throw std::invalid_argument(message);
}

}  // namespace

namespace fanlight {

const Algorithm& named_for(std::string_view name, const Problem& p) {
    const Algorithm& a = named(to_string(p.operation), name);
    if (const std::string why = restriction(a, p); !why.empty())
        throw std::invalid_argument(std::string(a.name) + ": " + why);
    return a;
}

std::vector<Schedule> schedules_by(nb::handle algorithm, const Problem& p) {
    if (!nb::isinstance<nb::str>(algorithm)) return schedules_of_plan(algorithm, p);
    const Algorithm& a = named_for(nb::cast<std::string_view>(algorithm), p);
    Problem of_plan = p;
    of_plan.parameters.plan = a.plan;
    return schedules_of_all(a.schedule, of_plan);
}

std::string kind_text(StepKind k) {
    switch (k) {
        case StepKind::put: return "put";
        case StepKind::arrive: return "arrive";
        case StepKind::offer: return "offer";
        case StepKind::get: return "get";
        case StepKind::copy: return "copy";
        case StepKind::combine: return "combine";
    }
    return "?";
}

}  // namespace fanlight

namespace {

std::string text_in(const std::string& file) {
    std::ifstream in(file);
    if (!in) throw std::invalid_argument(file + ": cannot be read");
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string name_of(nb::handle algorithm) {
    return nb::cast<std::string>(nb::isinstance<nb::str>(algorithm) ? nb::borrow<nb::object>(algorithm) : nb::object(algorithm.attr("name")));
}

Problem make_problem(std::string_view operation, int size, int rank, int root, std::size_t bytes,
                     const std::vector<std::size_t>& block_bytes, std::size_t element, bool commutative,
                     const Parameters& parameters) {
    if (size < 1) throw std::invalid_argument("size must be at least 1");
    if (rank < 0 || rank >= size) throw std::invalid_argument("rank must be from 0 to size - 1");
    if (root < 0 || root >= size) throw std::invalid_argument("root must be from 0 to size - 1");
    Problem p;
    p.operation = operation_from(operation);
    p.size = size;
    p.rank = rank;
    p.root = root;
    p.bytes = bytes;
    p.element = element;
    p.commutative = commutative;
    p.parameters = parameters;
    if (p.operation == Operation::alltoallv) {
        const std::size_t pairs = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
        if (!block_bytes.empty() && block_bytes.size() != pairs)
            throw std::invalid_argument("blocks: one length for each pair of ranks, rank 0's for all first");
        set_exchange(p, block_bytes.empty() ? std::vector<std::size_t>(pairs, bytes) : block_bytes);
    } else if (family_of(p.operation) == Family::blocks_v) {
        if (!block_bytes.empty() && block_bytes.size() != static_cast<std::size_t>(size))
            throw std::invalid_argument("blocks: one length for each rank");
        std::size_t offset = 0;
        for (int r = 0; r < size; ++r) {
            const std::size_t length = block_bytes.empty() ? bytes : block_bytes[static_cast<std::size_t>(r)];
            p.blocks.push_back({offset, length});
            offset += length;
        }
    } else if (family_of(p.operation) == Family::neighbors && block_bytes.empty()) {
        set_ring(p, bytes);
    } else if (!block_bytes.empty()) {
        throw std::invalid_argument("blocks: only for operations with blocks of different lengths");
    }
    if (reduces(p.operation) && (element == 0 || bytes % element != 0))
        throw std::invalid_argument("bytes must be a multiple of element");
    if (reduces(p.operation))
        for (const Block& b : p.blocks)
            if (b.bytes % element != 0) throw std::invalid_argument("blocks must be multiples of element");
    return p;
}

nb::dict dict_of(const Parameters& parameters) {
    nb::dict d;
#define PARAMETER(name, type, description) d[#name] = parameters.name;
#include "schedule/parameters.def"
#undef PARAMETER
    if (parameters.levels) d["level_algorithms"] = names_of_levels(parameters.levels);
    return d;
}

std::string order_text(Order o) {
    switch (o) {
        case Order::overwrite: return "overwrite";
        case Order::before: return "before";
        case Order::after: return "after";
    }
    return "?";
}

nb::object place_of(const Address& a) { return nb::make_tuple(to_string(a.buffer), a.offset); }

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The core of Fanlight that has no MPI in it";

    nb::class_<Algorithm>(m, "Algorithm", "One row of the catalogue")
        .def_prop_ro("operation", [](const Algorithm& a) { return to_string(a.operation); })
        .def_ro("name", &Algorithm::name)
        .def_prop_ro("power_of_two", [](const Algorithm& a) { return a.has(property::power_of_two); })
        .def_prop_ro("even", [](const Algorithm& a) { return a.has(property::even); })
        .def_prop_ro("commutative", [](const Algorithm& a) { return a.has(property::commutative); })
        .def_prop_ro("levels", [](const Algorithm& a) { return a.has(property::levels); })
        .def_prop_ro("pipelined", [](const Algorithm& a) { return a.has(property::pipelined); })
        .def_ro("parameters", &Algorithm::parameters, "The names of those that it takes")
        .def_ro("description", &Algorithm::description)
        .def_ro("paper", &Algorithm::paper)
        .def("restriction", [](const Algorithm& a, const Problem& p) { return restriction(a, p); },
             "problem"_a, "Why it cannot serve this problem; empty if it can")
        .def("__repr__", [](const Algorithm& a) {
            return "<Algorithm " + std::string(to_string(a.operation)) + ":" + std::string(a.name) + ">";
        });

    nb::class_<Problem>(m, "Problem", "What an algorithm is asked to do")
        .def("__init__",
             [](Problem* self, std::string_view operation, int size, int rank, int root, std::size_t bytes,
                const std::vector<std::size_t>& blocks, std::size_t element, bool commutative, int degree,
                std::size_t piece, std::size_t minimum, int shift, std::size_t once, std::string_view topology,
                const std::vector<std::string_view>& level_algorithms) {
                 new (self) Problem(make_problem(operation, size, rank, root, bytes, blocks, element, commutative,
                                                 {.degree = degree, .piece = piece, .minimum = minimum, .shift = shift, .once = once}));
                 if (!topology.empty()) self->topology = Topology::from(topology, size);
                 self->parameters.levels = level_names(self->operation, level_algorithms);
             },
             "operation"_a, "size"_a, "rank"_a = 0, "root"_a = 0, "bytes"_a = 8,
             "blocks"_a = std::vector<std::size_t>(), "element"_a = 1, "commutative"_a = true,
             "degree"_a = 0, "piece"_a = 0, "minimum"_a = 0, "shift"_a = 0, "once"_a = 0, "topology"_a = "",
             "level_algorithms"_a = std::vector<std::string_view>())
        .def_prop_ro("operation", [](const Problem& p) { return to_string(p.operation); })
        .def_ro("size", &Problem::size)
        .def_ro("rank", &Problem::rank)
        .def_ro("root", &Problem::root)
        .def_ro("bytes", &Problem::bytes)
        .def_ro("commutative", &Problem::commutative)
        .def_prop_ro("levels", [](const Problem& p) { return p.topology.levels(); })
        .def_prop_ro("topology", [](const Problem& p) { return p.topology.text(); });

    nb::class_<Step>(m, "Step")
        .def_prop_ro("kind", [](const Step& s) { return kind_text(s.kind); })
        .def_prop_ro("order", [](const Step& s) { return order_text(s.order); })
        .def_ro("peer", &Step::peer)
        .def_ro("offer", &Step::offer)
        .def_prop_ro("source", [](const Step& s) { return place_of(s.from); }, "(buffer, offset)")
        .def_prop_ro("target", [](const Step& s) { return place_of(s.to); }, "(buffer, offset)")
        .def_ro("bytes", &Step::bytes)
        .def("__repr__", [](const Step& s) { return describe(s); });

    nb::class_<Schedule>(m, "Schedule", "One rank's part: rounds of steps")
        .def_prop_ro("rounds", [](const Schedule& s) {
            std::vector<std::vector<Step>> rounds;
            for (std::size_t i = 0; i < s.rounds(); ++i) {
                const auto steps = s.round(i);
                rounds.emplace_back(steps.begin(), steps.end());
            }
            return rounds;
        })
        .def_ro("scratch_bytes", &Schedule::scratch_bytes)
        .def_ro("offers", &Schedule::offers)
        .def("__len__", [](const Schedule& s) { return s.steps.size(); });

    nb::class_<Setting>(m, "Setting", "One configuration variable")
        .def_ro("field", &Setting::field)
        .def_ro("type", &Setting::type)
        .def_ro("variable", &Setting::variable)
        .def_ro("default", &Setting::default_text)
        .def_ro("help", &Setting::help)
        .def_ro("same", &Setting::same, "whether all ranks must have the same value");

    m.def("operations", [] {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < operation_count(); ++i)
            names.emplace_back(to_string(static_cast<Operation>(i)));
        return names;
    }, "The names of the collective operations");
    m.def("is_rooted", [](std::string_view o) { return has_root(operation_from(o)); }, "operation"_a);
    m.def("length_is_known", [](std::string_view o, int ranks) { return length_is_known(operation_from(o), ranks); }, "operation"_a, "ranks"_a);
    m.def("is_reduction", [](std::string_view o) { return reduces(operation_from(o)); }, "operation"_a);
    m.def("has_blocks_v", [](std::string_view o) { return family_of(operation_from(o)) == Family::blocks_v; },
          "operation"_a);

    m.def("algorithms", [](std::string_view operation) {
        std::vector<Algorithm> found;
        for (const Algorithm& a : algorithms())
            if (operation.empty() || a.operation == operation_from(operation)) found.push_back(a);
        return found;
    }, "operation"_a = "", "The catalogue, or the part for one operation");
    m.def("algorithm", [](std::string_view o, std::string_view n) { return named(o, n); },
          "operation"_a, "name"_a, "One of the catalogue; ValueError with the names that exist");

    m.def("parse_choice", [](std::string_view o, std::string_view text) {
        const Choice c = parse_choice(operation_from(o), text);
        if (!c.algorithm) throw std::invalid_argument("native is the MPI library's own, which has no schedule");
        return std::pair(*c.algorithm, dict_of(c.parameters));
    }, "operation"_a, "text"_a, "An algorithm and its parameters: tree(degree=4)");
    m.def("mpi_libraries", [] {
        std::vector<std::string_view> names;
        for (const MpiLibrary& l : mpi_libraries) names.push_back(l.name);
        return names;
    }, "The MPI libraries that rules tell apart");
    m.def("parameters", [] {
        return std::vector<std::pair<std::string, std::string>>{
#define PARAMETER(name, type, description) {#name, description},
#include "schedule/parameters.def"
#undef PARAMETER
        };
    }, "The parameters that algorithms may take, with what they mean");

    m.def("schedule", [](nb::handle algorithm, const Problem& p) {
        return schedules_by(algorithm, p)[static_cast<std::size_t>(p.rank)];
    }, "algorithm"_a, "problem"_a, "The schedule of problem.rank");
    m.def("schedules", [](nb::handle algorithm, const Problem& p) {
        return schedules_by(algorithm, p);
    }, "algorithm"_a, "problem"_a, "The schedules of all ranks");
    m.def("verify", [](nb::handle algorithm, const Problem& p, int calls) {
        const std::vector<Schedule> schedules = schedules_by(algorithm, p);
        nb::gil_scoped_release release;
        return verify(schedules, p, {.calls = calls});
    }, "algorithm"_a, "problem"_a, "calls"_a = 1, "What is wrong with it, by a symbolic run of all ranks; empty if it is right");

    m.def("count", [](nb::handle algorithm, const Problem& p) {
        const Counts c = count(schedules_by(algorithm, p), p.topology);
        const auto traffic = [](nb::dict& d, const Traffic& t) {
            d["messages"] = t.messages;
            d["signals"] = t.signals;
            d["bytes"] = t.bytes;
        };
        nb::dict d;
        d["rounds"] = c.rounds;
        d["depth"] = c.depth;
        traffic(d, c.all);
        nb::list between;
        for (const Traffic& t : c.between) {
            nb::dict level;
            traffic(level, t);
            between.append(level);
        }
        d["between"] = between;
        d["copied"] = c.copied;
        d["combined"] = c.combined;
        return d;
    }, "algorithm"_a, "problem"_a, "Messages, bytes and rounds, over all ranks, and between the domains of each level of the topology");
    m.def("draw", [](nb::handle algorithm, const Problem& p, std::size_t block) {
        DrawOptions options;
        options.title = std::string(to_string(p.operation)) + " " + name_of(algorithm) + ", " +
                        std::to_string(p.size) + " ranks";
        options.topology = p.topology;
        options.block = block;
        if (block) options.label = Label::blocks;
        return draw_svg(schedules_by(algorithm, p), options);
    }, "algorithm"_a, "problem"_a, "block"_a = 0, "The message pattern as SVG");

    bind_model(m);
    bind_plans(m);

    m.def("settings", [] {
        const auto all = settings();
        return std::vector<Setting>(all.begin(), all.end());
    }, "The configuration variables");

    m.def("choose", [](std::string_view operation, std::size_t bytes, int ranks, int nodes, bool oversubscribed,
                       bool single_copy, bool commutative, std::string_view mpi, std::string_view forced,
                       const std::string& rules, const std::string& tuned, bool blocking) {
        Problem p;
        p.operation = operation_from(operation);
        p.commutative = commutative;
        const Topology topology = Topology::from(std::to_string(nodes) + "x*", ranks);
        const Domains map = topology.level(0);
        const Situation s{.operation = p.operation, .bytes = length_is_known(p.operation, ranks) ? bytes : 0, .ranks = ranks, .nodes = map.count(),
                          .by_levels = goes_by_levels(p, map), .lanes = goes_in_lanes(p, map),
                          .oversubscribed = oversubscribed, .single_copy = single_copy, .blocking = blocking,
                          .commutative = commutative, .topology = topology, .mpi = mpi};
        const Selector selector(forced, rules, "", {tuned, tuned.empty() ? "" : text_in(tuned)});
        const Choice c = selector.choose(s);
        nb::dict d;
        d["algorithm"] = c.algorithm ? std::string(c.algorithm->name) : std::string("native");
        d["forced"] = c.forced;
        d["parameters"] = dict_of(c.parameters);
        d["lanes"] = c.lanes;
        d["rule"] = c.rule;
        d["passed_over"] = c.passed_over;
        return d;
    }, "operation"_a, "bytes"_a, "ranks"_a, "nodes"_a = 1, "oversubscribed"_a = false, "single_copy"_a = true,
       "commutative"_a = true, "mpi"_a = "", "forced"_a = "", "rules"_a = "", "tuned"_a = "", "blocking"_a = true,
       "Which algorithm is chosen, and by which rule");
    m.def("check_selection", [](std::string_view forced, const std::string& rules) { Selector(forced, rules); },
          "forced"_a, "rules"_a = "", "ValueError if FANLIGHT_ALGORITHM or a file of rules is wrong");
    m.def("cores_report", [] {
        const CoresReport r = cores_report();
        nb::dict d;
        d["usable"] = r.usable();
        d["affinity"] = r.affinity;
        d["quota"] = r.quota;
        d["quota_file"] = r.quota_file;
        d["forced"] = r.forced;
        return d;
    }, "How many cores may really be used, and why");
    m.def("fingerprint", [](std::string_view mpi, const std::vector<int>& cpus) {
        const Fingerprint f = fingerprint(mpi, cpus.empty() ? own_cpus() : cpus);
        nb::dict d;
        d["processor"] = f.processor;
        d["domains"] = f.domains;
        d["kernel"] = f.kernel;
        d["mpi"] = f.mpi;
        d["binding"] = f.binding;
        d["machine"] = f.machine();
        d["name"] = f.name();
        return d;
    }, "mpi"_a, "cpus"_a = std::vector<int>{}, "What measurements on this machine are filed under");
    m.def("tuned_folders", [] {
        std::vector<std::string> folders;
        for (const auto& folder : tuned_folders()) folders.push_back(folder.string());
        return folders;
    }, "Where the rules lie that `fanlight tune` has written");
    m.def("usable_cores", [] { return usable_cores(); }, "How many cores may really be used");
    m.def("waiting_policy", [](int ranks) { return Waiter(ranks, {}).policy_text(); }, "ranks"_a,
          "How so many ranks of this node would wait, in words");
    m.def("probe_single_copy", [](int pid, std::uintptr_t address, std::uint64_t expected) {
        return probe_single_copy(pid, reinterpret_cast<const void*>(address), expected).why_not;
    }, "pid"_a, "address"_a, "expected"_a, "Why another process's memory may not be read; empty if it may");
    m.def("built_in_rules", &built_in_rules, "The text of the built-in rules");
}

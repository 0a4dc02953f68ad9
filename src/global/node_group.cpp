#include "global/node_group.h"

#include <stdexcept>
#include <string>

#include "config/config.h"
#include "global/barrier.h"
#include "global/map_by_all.h"
#include "global/runtime.h"
#include "global/team.h"
#include "select/select.h"

namespace fanlight::global {

namespace {

constexpr std::size_t scratch_bytes = 256 * 1024;  // of a unit; what needs more runs in pieces
constexpr std::size_t calls_kept = 256, steps_kept = std::size_t{1} << 16;
constexpr auto room = SharedSlots::Capacity::one;

[[noreturn]] void stop(const std::invalid_argument& e) {
    waiting_hooks().dead(e.what());
    std::abort();
}

const Selector& selector() {
    static const Selector& s = [] () -> const Selector& {
        try {
            return *new Selector(config().algorithm, config().rules);
        } catch (const std::invalid_argument& e) {
            stop(e);
        }
    }();
    return s;
}

}  // namespace

std::unique_ptr<NodeGroup> NodeGroup::make(Team& team, fanlight_code& error) {
    const std::size_t group_bytes = Group::segment_bytes(team.size, room);
    const std::size_t bytes = group_bytes + static_cast<std::size_t>(team.size) * scratch_bytes;
    fanlight::Segment memory;
    const auto map = [&](fanlight::Segment::Place place, std::error_code& problem) {
        memory = {};
        const SharedSlots slots(nullptr, team.size, room);
        const auto unit = static_cast<std::size_t>(team.unit);
        char name[64] = "";
        if (team.unit == 0) {
            memory = fanlight::Segment::create(bytes, problem, fanlight::Segment::Pages::parts, place);
            memory.name().copy(name, sizeof name - 1);
        }
        MPI_Bcast(name, sizeof name, MPI_BYTE, 0, team.comm);
        if (team.unit != 0) memory = open_others(name, problem);
        if (!problem) problem = memory.reserve(unit * slots.part_bytes(), slots.reserved_bytes());
        if (!problem) problem = memory.reserve(group_bytes + unit * scratch_bytes, scratch_bytes);
    };
    error = map_by_all(team.comm, bytes, map);
    memory.unlink();
    if (error != FANLIGHT_OK) return nullptr;
    std::unique_ptr<NodeGroup> made(new NodeGroup(std::move(memory), group_bytes, team.unit, team.size));
    error = barrier(team);  // as Group demands, before the first run
    return made;
}

NodeGroup::NodeGroup(fanlight::Segment memory, std::size_t group_bytes, int unit, int size)
    : memory_(std::move(memory)),
      group_(memory_.bytes().first(group_bytes), unit, size, true, waiting_hooks(), runtime.units_on_host, runtime.cores,
             room, memory_.bytes().subspan(group_bytes, static_cast<std::size_t>(size) * scratch_bytes)),
      calls_(calls_kept, steps_kept) {}

const NodeGroup::Known& NodeGroup::known(const Problem& problem) {
    if (const Known* k = calls_.find(problem)) return *k;
    Situation situation;
    situation.operation = problem.operation;
    situation.bytes = problem.bytes;
    situation.ranks = problem.size;
    situation.oversubscribed = group_.oversubscribed();
    auto made = std::make_shared<Known>();
    made->problem = problem;
    Choice choice;
    try {
        choice = selector().choose(situation);
    } catch (const std::invalid_argument& e) {
        stop(e);  // a forced algorithm that cannot serve
    }
    try {
        if (choice.algorithm) {
            made->problem.parameters = choice.parameters;
            group_.plan(*choice.algorithm, made->problem, made->plan);
            made->served = true;
        }
    } catch (const std::invalid_argument&) {
        // It finds no room: on all units alike.
    }
    if (calls_.is_full()) calls_.clear();
    return calls_.keep(std::move(made));
}

bool NodeGroup::run(const Problem& problem, const Mapped& buffers, const Combiner* combiner, fanlight_code& error) {
    const Known& call = known(problem);
    if (!call.served) return false;
    try {
        group_.run(call.plan, buffers, combiner);
    } catch (const MismatchedCollectives& e) {
        error = fail(FANLIGHT_ERR_ARGUMENT, "%s", e.what());
    }
    return true;
}

}  // namespace fanlight::global

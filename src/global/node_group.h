// A group, and the plans of its calls, for a team whose units share a node.  The team's first collective on global memory
// makes it, to run the catalogue's algorithms.
#pragma once

#include <cstddef>
#include <memory>

#include "execute/group.h"
#include "execute/plan_cache.h"
#include "global/error.h"
#include "memory/segment.h"
#include "schedule/problem.h"

namespace fanlight::global {

struct Team;

class NodeGroup {
public:
    // Collective; null on all units, and an error, where there is no memory for it.
    static std::unique_ptr<NodeGroup> make(Team&, fanlight_code& error);

    // The buffers are all units', `input` and `output` at this unit's are what the problem calls so.
    // False, on all units alike, where a rule leaves the problem to the MPI library.  `error`: the
    // units called different things.
    bool run(const Problem&, const Mapped&, const Combiner*, fanlight_code& error);

private:
    NodeGroup(fanlight::Segment, std::size_t group_bytes, int unit, int size);

    struct Known : Planned {
        bool served = false;
    };
    const Known& known(const Problem&);

    fanlight::Segment memory_;
    Group group_;
    PlanCache<Known> calls_;
};

}  // namespace fanlight::global

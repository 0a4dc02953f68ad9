// Shared memory that either all units of a node map, or none.
#pragma once

#include <system_error>

#include "collective/mpi_header.h"
#include "global/error.h"
#include "memory/segment.h"

namespace fanlight::global {

// The problem of a unit that could have mapped all.
constexpr std::errc others_problem = std::errc::owner_dead;

// One that another unit has made; without a name: it could not.
inline fanlight::Segment open_others(const char* name, std::error_code& problem) {
    if (*name) return fanlight::Segment::open(name, problem);
    problem = std::make_error_code(others_problem);
    return {};
}

// Collective.  map(place, problem) makes this unit's segments of `bytes` there and opens the others'; it is called
// again for /dev/shm where some unit cannot reach another one's files.  An error on all units, or on none.
template <class Map>
fanlight_code map_by_all(MPI_Comm comm, std::size_t bytes, Map&& map) {
    std::error_code problem;
    for (const auto place : {fanlight::Segment::Place::anywhere, fanlight::Segment::Place::dev_shm}) {
        problem.clear();
        map(place, problem);
        enum { well, by_name, not_at_all };
        int mine = !problem ? well : problem == std::errc::cross_device_link ? by_name : not_at_all, worst = not_at_all;
        if (const int code = MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm)) return mpi_code(code, "MPI_Allreduce");
        if (worst == well) return FANLIGHT_OK;
        if (worst == not_at_all) break;
    }
    if (!problem || problem == others_problem) return fail(FANLIGHT_ERR_MEMORY, "another unit has no %zu bytes of shared memory", bytes);
    return fail(FANLIGHT_ERR_MEMORY, "no %zu bytes of shared memory: %s", bytes, problem.message().c_str());
}

}  // namespace fanlight::global

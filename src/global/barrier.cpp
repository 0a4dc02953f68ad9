#include "global/barrier.h"

#include "global/dissemination.h"
#include "global/mpi_calls.h"
#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

fanlight_code barrier(Team& team) {
    if (!team.one_node) {
        const Fenced fenced;
        return mpi_code(MPI_Barrier(team.comm), "MPI_Barrier");
    }
    disseminate(
        team.unit, team.size, ++team.barriers,
        [&](int unit, std::size_t round) -> std::uint64_t& {
            char* const part = team.notifications->parts[static_cast<std::size_t>(unit)].address;
            return reinterpret_cast<std::uint64_t*>(part + Team::barrier_at)[round];
        },
        [&](int unit, const auto& ready) { wait_for(team.world[static_cast<std::size_t>(unit)], "barrier", ready); });
    return FANLIGHT_OK;
}

}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_team_barrier(fanlight_team id) {
    fanlight_code error = FANLIGHT_OK;
    Team* const team = find_team(id, error);
    return team ? barrier(*team) : error;
}

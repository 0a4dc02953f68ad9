// Dissemination: in round k every unit tells the one 2^k after it, and waits for the one 2^k
// before it; after ceil(log2 n) rounds it has heard of all.  The counters only grow.
//
// D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988.
#include "global/barrier.h"

#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

fanlight_code barrier(Team& team) {
    if (!team.one_node) return mpi_code(MPI_Barrier(team.comm), "MPI_Barrier");
    const auto counter = [&](int unit, std::size_t round) {
        char* const part = team.notifications->parts[static_cast<std::size_t>(unit)].address;
        return std::atomic_ref(reinterpret_cast<std::uint64_t*>(part + Team::barrier_at)[round]);
    };
    const std::uint64_t number = ++team.barriers;
    std::size_t round = 0;
    for (int distance = 1; distance < team.size; distance *= 2, ++round) {
        const int from = (team.unit - distance + team.size) % team.size;
        counter((team.unit + distance) % team.size, round).store(number, std::memory_order_release);
        wait_for(team.world[static_cast<std::size_t>(from)], "barrier",
                 [&] { return counter(team.unit, round).load(std::memory_order_acquire) >= number; });
    }
    return FANLIGHT_OK;
}

}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_team_barrier(fanlight_team id) {
    fanlight_code error = FANLIGHT_OK;
    Team* const team = find_team(id, error);
    return team ? barrier(*team) : error;
}

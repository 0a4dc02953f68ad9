// Notifications: a counter for each (target, sender, index), which only the sender writes.
//
// Inside a node the sender stores the bytes, then the counter, with release; the target reads the counter with acquire.
// Between nodes the bytes are flushed before the counter is written.
#include <atomic>

#include "global/mpi_calls.h"
#include "global/runtime.h"
#include "global/segment.h"
#include "global/team.h"

namespace fanlight::global {

namespace {

std::size_t slot(int unit, int index) {
    return static_cast<std::size_t>(unit) * FANLIGHT_NOTIFICATIONS + static_cast<std::size_t>(index);
}

std::uint64_t* counter(const Team& team, int at, std::size_t which) {
    char* const part = team.notifications->parts[static_cast<std::size_t>(at)].address;
    return part ? reinterpret_cast<std::uint64_t*>(part + Team::counters_at) + which : nullptr;
}

fanlight_code check(const Team& team, int unit, int index) {
    if (const fanlight_code error = check_unit(team, unit)) return error;
    if (index < 0 || index >= FANLIGHT_NOTIFICATIONS)
        return fail(FANLIGHT_ERR_ARGUMENT, "notification %d: they go from 0 to %d", index, FANLIGHT_NOTIFICATIONS - 1);
    return FANLIGHT_OK;
}

fanlight_code tell(Team& team, int unit, int index) {
    const std::uint64_t count = ++team.sent[slot(unit, index)];
    const std::size_t which = slot(team.unit, index);
    if (std::uint64_t* there = counter(team, unit, which)) {
        std::atomic_ref(*there).store(count, std::memory_order_release);
        return FANLIGHT_OK;
    }
    const Fenced fenced;
    MPI_Win win = team.notifications->window;
    int code = MPI_Accumulate(&count, 1, MPI_UINT64_T, unit, static_cast<MPI_Aint>(Team::counters_at + which * sizeof count), 1,
                              MPI_UINT64_T, MPI_REPLACE, win);
    if (code == MPI_SUCCESS) code = MPI_Win_flush(unit, win);
    return mpi_code(code, "MPI_Accumulate");
}

bool there(const Team& team, int unit, int index) {
    std::uint64_t* const own = counter(team, team.unit, slot(unit, index));
    return std::atomic_ref(*own).load(std::memory_order_acquire) > team.seen[slot(unit, index)];
}

}  // namespace
}  // namespace fanlight::global

using namespace fanlight::global;

fanlight_code fanlight_put_notify(fanlight_pointer to, const void* from, size_t bytes, int index) {
    Target t;
    if (const fanlight_code error = resolve(to, bytes, t)) return error;
    Team& team = *t.segment->team;
    if (const fanlight_code error = check(team, t.unit, index)) return error;
    if (const fanlight_code error = fanlight_put(to, from, bytes)) return error;
    return tell(team, t.unit, index);
}

fanlight_code fanlight_notify(fanlight_team id, int unit, int index) {
    fanlight_code error = FANLIGHT_OK;
    Team* const team = find_team(id, error);
    if (!team || (error = check(*team, unit, index))) return error;
    return tell(*team, unit, index);
}

fanlight_code fanlight_wait_notify(fanlight_team id, int unit, int index) {
    fanlight_code error = FANLIGHT_OK;
    Team* const team = find_team(id, error);
    if (!team || (error = check(*team, unit, index))) return error;
    wait_for(team->world[static_cast<std::size_t>(unit)], "wait_notify", [&] { return there(*team, unit, index); });
    ++team->seen[slot(unit, index)];
    return FANLIGHT_OK;
}

fanlight_code fanlight_test_notify(fanlight_team id, int unit, int index, int* result) {
    fanlight_code error = FANLIGHT_OK;
    Team* const team = find_team(id, error);
    if (!team || (error = check(*team, unit, index))) return error;
    if (!result) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_test_notify: a null pointer for the result");
    *result = there(*team, unit, index);
    if (*result) ++team->seen[slot(unit, index)];
    else let_progress();
    return FANLIGHT_OK;
}

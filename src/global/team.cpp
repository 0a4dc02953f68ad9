#include "global/team.h"

#include <algorithm>

#include "global/runtime.h"
#include "global/segment.h"

namespace fanlight::global {

Team* find_team(fanlight_team id, fanlight_code& error) {
    if (!is_up()) {
        error = not_up();
        return nullptr;
    }
    Team* const team = teams.find(id);
    if (!team) error = fail(FANLIGHT_ERR_TEAM, "team %d has been freed, or this unit is not in it", id);
    return team;
}

template <class T>
Agreement agree(MPI_Comm comm, const Table<T>& table, fanlight_code own, std::int64_t value) {
    std::int32_t from = 0;
    for (;;) {
        const std::int64_t id = table.propose(from);
        std::int64_t mine[6] = {id, -id, value, -value, own != FANLIGHT_OK, id < 0}, all[6] = {};
        if (const int code = MPI_Allreduce(mine, all, 6, MPI_INT64_T, MPI_MAX, comm); code != MPI_SUCCESS)
            return {.code = mpi_code(code, "MPI_Allreduce")};
        if (own != FANLIGHT_OK) return {.code = own};
        if (all[4]) return {.code = fail(FANLIGHT_ERR_ARGUMENT, "another unit of the team gave wrong arguments")};
        if (all[5]) return {.code = fail(FANLIGHT_ERR_MEMORY, "all %d numbers are in use", Table<T>::slots)};
        if (all[0] == -all[1]) return {static_cast<std::int32_t>(all[0]), all[2] == -all[3], FANLIGHT_OK};
        from = static_cast<std::int32_t>(all[0]);
    }
}
template Agreement agree(MPI_Comm, const Table<Segment>&, fanlight_code, std::int64_t);
template Agreement agree(MPI_Comm, const Table<Team>&, fanlight_code, std::int64_t);

namespace {

std::vector<int> translated(MPI_Comm comm, int size, MPI_Comm to) {
    std::vector<int> ranks(static_cast<std::size_t>(size)), result(ranks.size());
    for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
    MPI_Group group, other;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(to, &other);
    MPI_Group_translate_ranks(group, size, ranks.data(), other, result.data());
    MPI_Group_free(&group);
    MPI_Group_free(&other);
    for (int& rank : result)
        if (rank == MPI_UNDEFINED) rank = -1;
    return result;
}

}  // namespace

Team* make_team(MPI_Comm comm, std::int32_t id, fanlight_code& error) {
    auto* team = new Team;
    team->id = id;
    team->comm = comm;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &team->unit);
    MPI_Comm_size(comm, &team->size);
    const Team* const all = teams.find(FANLIGHT_TEAM_ALL);
    team->world = translated(comm, team->size, all ? all->comm : comm);
    const int node = runtime.places[static_cast<std::size_t>(team->world[static_cast<std::size_t>(team->unit)])].node;
    MPI_Comm_split(comm, node, team->unit, &team->node);
    MPI_Comm_set_errhandler(team->node, MPI_ERRORS_RETURN);
    team->node_rank = translated(comm, team->size, team->node);
    team->one_node = std::ranges::find(team->node_rank, -1) == team->node_rank.end();

    const std::size_t counters = static_cast<std::size_t>(team->size) * FANLIGHT_NOTIFICATIONS;
    team->sent.assign(counters, 0);
    team->seen.assign(counters, 0);
    const Agreement agreed = agree(comm, segments, FANLIGHT_OK);
    error = agreed.code;
    if (error == FANLIGHT_OK)
        team->notifications = allocate(*team, agreed.id, Team::counters_at + counters * sizeof(std::uint64_t), 0, error);
    if (error != FANLIGHT_OK) {
        MPI_Comm_free(&team->node);
        MPI_Comm_free(&team->comm);
        delete team;
        return nullptr;
    }
    team->notifications->own = true;
    teams.put(team);
    return team;
}

fanlight_code free_team(Team& team) {
    teams.take(&team);
    release(team.notifications);
    MPI_Comm_free(&team.node);
    MPI_Comm_free(&team.comm);
    delete &team;
    return FANLIGHT_OK;
}

}  // namespace fanlight::global

using namespace fanlight::global;

namespace {

bool bad_unit(const Team& team, int unit) { return unit < 0 || unit >= team.size; }
fanlight_code no_unit(const Team& team, int unit) {
    return fail(FANLIGHT_ERR_UNIT, "unit %d is not in team %d, which has %d units", unit, team.id, team.size);
}
fanlight_code no_place(const char* function) {
    return fail(FANLIGHT_ERR_ARGUMENT, "%s: no place for the result", function);
}

}  // namespace

fanlight_code fanlight_team_size(fanlight_team id, int* size) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(id, error);
    if (!team) return error;
    if (!size) return no_place("fanlight_team_size");
    *size = team->size;
    return FANLIGHT_OK;
}

fanlight_code fanlight_team_unit(fanlight_team id, int* unit) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(id, error);
    if (!team) return error;
    if (!unit) return no_place("fanlight_team_unit");
    *unit = team->unit;
    return FANLIGHT_OK;
}

fanlight_code fanlight_team_create(fanlight_team parent, const int* units, int count, fanlight_team* result) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(parent, error);
    if (!team) return error;
    if (!result || count < 0 || (count > 0 && !units)) {
        error = fail(FANLIGHT_ERR_ARGUMENT, "fanlight_team_create: no units, or no place for the result");
    } else {
        std::vector<int> sorted(units, units + count);
        std::ranges::sort(sorted);
        if (count > 0 && bad_unit(*team, sorted.front())) error = no_unit(*team, sorted.front());
        if (count > 0 && bad_unit(*team, sorted.back())) error = no_unit(*team, sorted.back());
        if (std::ranges::adjacent_find(sorted) != sorted.end())
            error = fail(FANLIGHT_ERR_UNIT, "fanlight_team_create: a unit is named twice");
    }
    const Agreement agreed = agree(team->comm, teams, error);
    if (agreed.code) return agreed.code;
    MPI_Group all, chosen;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_group(team->comm, &all);
    MPI_Group_incl(all, count, units, &chosen);
    const int code = MPI_Comm_create(team->comm, chosen, &comm);
    MPI_Group_free(&all);
    MPI_Group_free(&chosen);
    if (code != MPI_SUCCESS) return mpi_code(code, "MPI_Comm_create");
    *result = FANLIGHT_TEAM_NULL;
    if (comm == MPI_COMM_NULL) return FANLIGHT_OK;
    if (!make_team(comm, agreed.id, error)) return error;
    *result = agreed.id;
    return FANLIGHT_OK;
}

fanlight_code fanlight_team_split(fanlight_team parent, int color, int key, fanlight_team* result) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(parent, error);
    if (!team) return error;
    if (!result) error = no_place("fanlight_team_split");
    const Agreement agreed = agree(team->comm, teams, error);
    if (agreed.code) return agreed.code;
    MPI_Comm comm = MPI_COMM_NULL;
    if (const int code = MPI_Comm_split(team->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm))
        return mpi_code(code, "MPI_Comm_split");
    *result = FANLIGHT_TEAM_NULL;
    if (comm == MPI_COMM_NULL) return FANLIGHT_OK;
    if (!make_team(comm, agreed.id, error)) return error;
    *result = agreed.id;
    return FANLIGHT_OK;
}

fanlight_code fanlight_team_free(fanlight_team* id) {
    if (!id) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_team_free: no team");
    if (*id == FANLIGHT_TEAM_ALL) return fail(FANLIGHT_ERR_TEAM, "the team of all units is freed by fanlight_exit");
    fanlight_code error = FANLIGHT_OK;
    Team* const team = find_team(*id, error);
    if (!team) return error;
    if (team->allocations > 0)
        return fail(FANLIGHT_ERR_STATE, "team %d still has %d allocations", team->id, team->allocations);
    MPI_Barrier(team->comm);
    *id = FANLIGHT_TEAM_NULL;
    return free_team(*team);
}

fanlight_code fanlight_team_translate(fanlight_team from, int unit, fanlight_team to, int* result) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const a = find_team(from, error);
    const Team* const b = a ? find_team(to, error) : nullptr;
    if (!b) return error;
    if (!result) return no_place("fanlight_team_translate");
    if (bad_unit(*a, unit)) return no_unit(*a, unit);
    const int world = a->world[static_cast<std::size_t>(unit)];
    const auto found = std::ranges::find(b->world, world);
    *result = found == b->world.end() ? -1 : static_cast<int>(found - b->world.begin());
    return FANLIGHT_OK;
}

fanlight_code fanlight_unit_locality(fanlight_team id, int unit, fanlight_locality* locality) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(id, error);
    if (!team) return error;
    if (!locality) return no_place("fanlight_unit_locality");
    if (bad_unit(*team, unit)) return no_unit(*team, unit);
    const Place& p = runtime.places[static_cast<std::size_t>(team->world[static_cast<std::size_t>(unit)])];
    *locality = {p.node, p.package, p.numa, p.core, team->node_rank[static_cast<std::size_t>(unit)] >= 0};
    return FANLIGHT_OK;
}

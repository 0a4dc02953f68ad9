#include "global/team.h"

#include <algorithm>
#include <numeric>

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

int unit_in(const Team& team, int world) {
    const auto found = std::ranges::find(team.world, world);
    return found == team.world.end() ? -1 : static_cast<int>(found - team.world.begin());
}

namespace {

fanlight_code anothers() { return fail(FANLIGHT_ERR_ARGUMENT, "another unit of the team gave wrong arguments"); }

Agreement agree(MPI_Comm comm, std::int32_t asker, fanlight_code own, std::int64_t value, bool on_team) {
    Agreement agreed;
    const auto withdraw = [&](fanlight_code code) {
        segments.withdraw(agreed.segment);
        teams.withdraw(agreed.team);
        return Agreement{.code = code};
    };
    std::int32_t segment_from = 0, team_from = 0;
    for (;;) {
        agreed.segment = segments.propose(segment_from, asker);
        agreed.team = on_team ? teams.propose(team_from, asker) : 0;
        const std::int64_t segment = agreed.segment, team = agreed.team;
        std::int64_t mine[8] = {segment, -segment, team, -team, value, -value, own != FANLIGHT_OK, segment < 0 || team < 0};
        std::int64_t all[8] = {};
        if (const int code = MPI_Allreduce(mine, all, 8, MPI_INT64_T, MPI_MAX, comm); code != MPI_SUCCESS)
            return withdraw(mpi_code(code, "MPI_Allreduce"));
        if (own != FANLIGHT_OK) return withdraw(own);
        if (all[6]) return withdraw(anothers());
        if (all[7]) return withdraw(fail(FANLIGHT_ERR_MEMORY, "all %d numbers are in use", Table<Team>::slots));
        agreed.greatest = all[4];
        agreed.same = all[4] == -all[5];
        if (all[0] == -all[1] && all[2] == -all[3]) return agreed;
        withdraw(FANLIGHT_OK);
        segment_from = static_cast<std::int32_t>(all[0]);
        team_from = static_cast<std::int32_t>(all[2]);
    }
}

std::vector<int> ranks_in_world(MPI_Comm comm, int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size)), result(ranks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const Team* const all = teams.find(FANLIGHT_TEAM_ALL);
    if (!all) return ranks;
    MPI_Group group, world;
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(all->comm, &world);
    MPI_Group_translate_ranks(group, size, ranks.data(), world, result.data());
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return result;
}

}  // namespace

Agreement agree_on_segment(MPI_Comm comm, std::int32_t asker, fanlight_code own, std::int64_t value) {
    return agree(comm, asker, own, value, false);
}
Agreement agree_on_team(const Team& parent, fanlight_code own) { return agree(parent.comm, parent.id, own, 0, true); }

fanlight_code agree(MPI_Comm comm, fanlight_code own) {
    int mine = own != FANLIGHT_OK, any = 0;
    if (const int code = MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm)) return mpi_code(code, "MPI_Allreduce");
    if (own != FANLIGHT_OK) return own;
    return any ? anothers() : FANLIGHT_OK;
}

Team* make_team(MPI_Comm comm, std::int32_t id, std::int32_t segment, fanlight_code& error) {
    auto* team = new Team;
    team->id = id;
    team->comm = comm;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &team->unit);
    MPI_Comm_size(comm, &team->size);
    team->world = ranks_in_world(comm, team->size);
    const auto node_of = [&](int unit) {
        return runtime.places[static_cast<std::size_t>(team->world[static_cast<std::size_t>(unit)])].node;
    };
    int here = 0;
    for (int u = 0; u < team->size; ++u) team->node_rank.push_back(node_of(u) == node_of(team->unit) ? here++ : -1);
    team->one_node = here == team->size;

    const std::size_t counters = static_cast<std::size_t>(team->size) * FANLIGHT_NOTIFICATIONS;
    team->sent.assign(counters, 0);
    team->seen.assign(counters, 0);
    team->notifications = allocate(*team, segment, Team::counters_at + counters * sizeof(std::uint64_t), 0, error);
    if (!team->notifications) {
        teams.withdraw(id);
        MPI_Comm_free(&team->comm);
        delete team;
        return nullptr;
    }
    team->notifications->own = true;
    teams.put(team);
    return team;
}

fanlight_code check_unit(const Team& team, int unit) {
    if (unit >= 0 && unit < team.size) return FANLIGHT_OK;
    return fail(FANLIGHT_ERR_UNIT, "unit %d is not in team %d, which has %d units", unit, team.id, team.size);
}

void free_team(Team& team) {
    MPI_Barrier(team.comm);
    teams.take(&team);
    while (!team.segments.empty()) release(team.segments.back());
    MPI_Comm_free(&team.comm);
    delete &team;
}

}  // namespace fanlight::global

using namespace fanlight::global;

namespace {

fanlight_code no_place(const char* function) {
    return fail(FANLIGHT_ERR_ARGUMENT, "%s: a null pointer for the result", function);
}

fanlight_code told(const char* function, fanlight_team id, int Team::*number, int* result) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(id, error);
    if (!team) return error;
    if (!result) return no_place(function);
    *result = team->*number;
    return FANLIGHT_OK;
}

// What `function` gave becomes the team whose numbers have been agreed on.
fanlight_code made(const Agreement& agreed, int code, const char* function, MPI_Comm comm, fanlight_team* result) {
    *result = FANLIGHT_TEAM_NULL;
    if (code != MPI_SUCCESS || comm == MPI_COMM_NULL) {
        segments.withdraw(agreed.segment);
        teams.withdraw(agreed.team);
        return mpi_code(code, function);
    }
    fanlight_code error = FANLIGHT_OK;
    if (make_team(comm, agreed.team, agreed.segment, error)) *result = agreed.team;
    return error;
}

}  // namespace

fanlight_code fanlight_team_size(fanlight_team id, int* size) { return told("fanlight_team_size", id, &Team::size, size); }
fanlight_code fanlight_team_unit(fanlight_team id, int* unit) { return told("fanlight_team_unit", id, &Team::unit, unit); }

fanlight_code fanlight_team_create(fanlight_team parent, const int* units, int count, fanlight_team* result) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(parent, error);
    if (!team) return error;
    if (!result || count < 0 || (count > 0 && !units)) {
        error = fail(FANLIGHT_ERR_ARGUMENT, "fanlight_team_create: no units, or a null pointer for the result");
    } else {
        std::vector<int> sorted(units, units + count);
        std::ranges::sort(sorted);
        for (int i = 0; i < count && !error; ++i) error = check_unit(*team, units[i]);
        if (std::ranges::adjacent_find(sorted) != sorted.end())
            error = fail(FANLIGHT_ERR_UNIT, "fanlight_team_create: a unit is named twice");
    }
    const Agreement agreed = agree_on_team(*team, error);
    if (agreed.code) return agreed.code;
    MPI_Group all, chosen;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_group(team->comm, &all);
    MPI_Group_incl(all, count, units, &chosen);
    const int code = MPI_Comm_create(team->comm, chosen, &comm);
    MPI_Group_free(&all);
    MPI_Group_free(&chosen);
    return made(agreed, code, "MPI_Comm_create", comm, result);
}

fanlight_code fanlight_team_split(fanlight_team parent, int color, int key, fanlight_team* result) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(parent, error);
    if (!team) return error;
    if (!result) error = no_place("fanlight_team_split");
    const Agreement agreed = agree_on_team(*team, error);
    if (agreed.code) return agreed.code;
    MPI_Comm comm = MPI_COMM_NULL;
    const int code = MPI_Comm_split(team->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm);
    return made(agreed, code, "MPI_Comm_split", comm, result);
}

fanlight_code fanlight_team_free(fanlight_team* id) {
    if (!id) return fail(FANLIGHT_ERR_ARGUMENT, "fanlight_team_free: no team");
    if (*id == FANLIGHT_TEAM_ALL) return fail(FANLIGHT_ERR_TEAM, "the team of all units is freed by fanlight_exit");
    fanlight_code error = FANLIGHT_OK;
    Team* const team = find_team(*id, error);
    if (!team) return error;
    if (team->allocations > 0)
        return fail(FANLIGHT_ERR_STATE, "team %d still has %d allocations", team->id, team->allocations);
    *id = FANLIGHT_TEAM_NULL;
    free_team(*team);
    return FANLIGHT_OK;
}

fanlight_code fanlight_team_translate(fanlight_team from, int unit, fanlight_team to, int* result) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const a = find_team(from, error);
    const Team* const b = a ? find_team(to, error) : nullptr;
    if (!b) return error;
    if (!result) return no_place("fanlight_team_translate");
    if ((error = check_unit(*a, unit))) return error;
    *result = unit_in(*b, a->world[static_cast<std::size_t>(unit)]);
    return FANLIGHT_OK;
}

fanlight_code fanlight_unit_locality(fanlight_team id, int unit, fanlight_locality* locality) {
    fanlight_code error = FANLIGHT_OK;
    const Team* const team = find_team(id, error);
    if (!team) return error;
    if (!locality) return no_place("fanlight_unit_locality");
    if ((error = check_unit(*team, unit))) return error;
    const Place& p = runtime.places[static_cast<std::size_t>(team->world[static_cast<std::size_t>(unit)])];
    *locality = {p.node, p.package, p.numa, p.core, team->node_rank[static_cast<std::size_t>(unit)] >= 0};
    return FANLIGHT_OK;
}

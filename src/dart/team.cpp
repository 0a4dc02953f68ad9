#include <vector>

#include "dart/group.h"
#include "dart/names.h"

using namespace fanlight;
using namespace fanlight::dart;

namespace {

// *result = answer(team), after the checks.
template <class Result, class Answer>
dart_ret_t told(const char* function, dart_team_t id, Result* result, Answer&& answer) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of(function, id, error);
    if (!team) return error;
    if (!result) return invalid(function, "a null pointer for the result");
    *result = answer(*team);
    return DART_OK;
}

}  // namespace

dart_ret_t dart_team_get_group(dart_team_t id, dart_group_t* group) {
    return told("dart_team_get_group", id, group, [](const global::Team& team) {
        return new dart_group_struct{{team.world.begin(), team.world.end()}};
    });
}

dart_ret_t dart_team_create(dart_team_t parent, const dart_group_t group, dart_team_t* result) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_team_create", parent, error);
    if (!team) return error;
    std::vector<int> units;
    if (group)
        for (const dart_unit_t unit : group->units) units.push_back(unit_in(*team, unit));
    fanlight_team made = FANLIGHT_TEAM_NULL;
    if (result) *result = DART_TEAM_NULL;
    // What one unit gives wrong is an error for all.
    if (const fanlight_code code = fanlight_team_create(team->id, units.data(), static_cast<int>(units.size()), result ? &made : nullptr))
        return status("dart_team_create", code);
    if (made != FANLIGHT_TEAM_NULL) *result = slot_of(made);
    return DART_OK;
}

dart_ret_t dart_team_destroy(dart_team_t* id) {
    if (!id) return invalid("dart_team_destroy", "no team");
    if (*id == DART_TEAM_NULL) return DART_OK;
    dart_ret_t error = DART_OK;
    global::Team* const team = team_of("dart_team_destroy", *id, error);
    if (!team) return error;
    if (*id == DART_TEAM_ALL) return invalid("dart_team_destroy", "dart_exit destroys the team of all units");
    dart_team_locality_finalize(*id);
    global::free_team(*team);
    *id = DART_TEAM_NULL;
    return DART_OK;
}

dart_ret_t dart_team_clone(dart_team_t id, dart_team_t* result) {
    fanlight_team made = FANLIGHT_TEAM_NULL;
    if (const fanlight_code code = fanlight_team_split(fanlight_id(id), 0, 0, result ? &made : nullptr))
        return status("dart_team_clone", code);
    *result = slot_of(made);
    return DART_OK;
}

dart_ret_t dart_team_myid(dart_team_t id, dart_team_unit_t* myid) {
    return told("dart_team_myid", id, myid, [](const global::Team& team) { return DART_TEAM_UNIT_ID(team.unit); });
}

dart_ret_t dart_team_size(dart_team_t id, size_t* size) {
    return told("dart_team_size", id, size, [](const global::Team& team) { return static_cast<size_t>(team.size); });
}

dart_ret_t dart_myid(dart_global_unit_t* myid) {
    dart_team_unit_t unit;
    const dart_ret_t error = dart_team_myid(DART_TEAM_ALL, &unit);
    if (myid) myid->id = error == DART_OK ? unit.id : DART_UNDEFINED_UNIT_ID;
    return myid ? error : invalid("dart_myid", "a null pointer for the unit");
}

dart_ret_t dart_size(size_t* size) { return dart_team_size(DART_TEAM_ALL, size); }

dart_ret_t dart_team_unit_l2g(dart_team_t id, dart_team_unit_t local, dart_global_unit_t* result) {
    dart_ret_t error = DART_OK;
    const global::Team* const team = team_of("dart_team_unit_l2g", id, error);
    if (!team) return error;
    if (!result || local.id < 0 || local.id >= team->size)
        return invalid("dart_team_unit_l2g", "no such unit in the team, or a null pointer for the result");
    result->id = team->world[static_cast<size_t>(local.id)];
    return DART_OK;
}

dart_ret_t dart_team_unit_g2l(dart_team_t id, dart_global_unit_t unit, dart_team_unit_t* result) {
    return told("dart_team_unit_g2l", id, result, [&](const global::Team& team) { return DART_TEAM_UNIT_ID(unit_in(team, unit.id)); });
}

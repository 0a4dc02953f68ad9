// DART's numbers have 16 bits: team numbers are the slots of Fanlight's table, segment numbers the team's own
// (global/numbers.h).
#pragma once

#include "dart/status.h"
#include "global/runtime.h"
#include "global/segment.h"
#include "global/team.h"

namespace fanlight::dart {

inline std::int16_t slot_of(std::int32_t id) {
    return static_cast<std::int16_t>(id & (global::Table<global::Team>::slots - 1));
}

// Null, and what to return in `error`, where there is no such team.
inline global::Team* team_of(const char* function, dart_team_t team, dart_ret_t& error) {
    global::Team* const found = team < 0 ? nullptr : global::teams.in_slot(team);
    if (!found) error = invalid(function, "no such team, or this unit is not in it");
    return found;
}

inline fanlight_team fanlight_id(dart_team_t team) {
    const global::Team* const found = team < 0 ? nullptr : global::teams.in_slot(team);
    return found ? found->id : FANLIGHT_TEAM_NULL;
}

// Null where there is no such segment in the pointer's team.
inline global::Segment* segment_of(const dart_gptr_t& p) {
    const global::Team* const team = p.teamid < 0 ? nullptr : global::teams.in_slot(p.teamid);
    return team ? team->numbers.find(p.segid) : nullptr;
}

// One to no segment where the pointer is.
inline fanlight_pointer pointer_of(const dart_gptr_t& p) {
    const global::Segment* const s = segment_of(p);
    return {p.unitid, s ? s->id : -1, p.addr_or_offs.offset};
}

inline dart_gptr_t gptr_of(fanlight_pointer p) {
    const global::Segment* const s = global::segments.find(p.segment);
    dart_gptr_t result = DART_GPTR_NULL;
    result.unitid = p.unit;
    result.segid = s->number;
    result.teamid = slot_of(s->team->id);
    result.addr_or_offs.offset = p.offset;
    return result;
}

}  // namespace fanlight::dart

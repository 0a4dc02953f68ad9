#include "dart/group.h"

#include <algorithm>
#include <iterator>

#include "dart/status.h"

using namespace fanlight::dart;

namespace {
dart_ret_t no_group(const char* function) { return invalid(function, "no group, or a null pointer for the result"); }
}

dart_ret_t dart_group_create(dart_group_t* group) {
    if (!group) return no_group("dart_group_create");
    *group = new dart_group_struct;
    return DART_OK;
}

dart_ret_t dart_group_destroy(dart_group_t* group) {
    if (!group) return no_group("dart_group_destroy");
    delete *group;
    *group = DART_GROUP_NULL;
    return DART_OK;
}

dart_ret_t dart_group_clone(const dart_group_t group, dart_group_t* copy) {
    if (!group || !copy) return no_group("dart_group_clone");
    *copy = new dart_group_struct(*group);
    return DART_OK;
}

dart_ret_t dart_group_union(const dart_group_t a, const dart_group_t b, dart_group_t* result) {
    if (!a || !b || !result) return no_group("dart_group_union");
    auto* made = new dart_group_struct(*a);
    made->units.insert(b->units.begin(), b->units.end());
    *result = made;
    return DART_OK;
}

dart_ret_t dart_group_intersect(const dart_group_t a, const dart_group_t b, dart_group_t* result) {
    if (!a || !b || !result) return no_group("dart_group_intersect");
    auto* made = new dart_group_struct;
    std::ranges::set_intersection(a->units, b->units, std::inserter(made->units, made->units.end()));
    *result = made;
    return DART_OK;
}

dart_ret_t dart_group_addmember(dart_group_t group, dart_global_unit_t unit) {
    if (!group || unit.id < 0) return no_group("dart_group_addmember");
    group->units.insert(unit.id);
    return DART_OK;
}

dart_ret_t dart_group_delmember(dart_group_t group, dart_global_unit_t unit) {
    if (!group) return no_group("dart_group_delmember");
    group->units.erase(unit.id);
    return DART_OK;
}

dart_ret_t dart_group_ismember(const dart_group_t group, dart_global_unit_t unit, int32_t* ismember) {
    if (!group || !ismember) return no_group("dart_group_ismember");
    *ismember = group->units.contains(unit.id);
    return DART_OK;
}

dart_ret_t dart_group_size(const dart_group_t group, size_t* size) {
    if (!group || !size) return no_group("dart_group_size");
    *size = group->units.size();
    return DART_OK;
}

dart_ret_t dart_group_getmembers(const dart_group_t group, dart_global_unit_t* units) {
    if (!group || !units) return no_group("dart_group_getmembers");
    for (const dart_unit_t unit : group->units) *units++ = unit;
    return DART_OK;
}

dart_ret_t dart_group_split(const dart_group_t group, size_t n, size_t* nout, dart_group_t* parts) {
    if (!group || n == 0 || !nout || !parts) return no_group("dart_group_split");
    const size_t all = group->units.size();
    *nout = std::min(n, all);
    auto unit = group->units.begin();
    for (size_t i = 0; i < *nout; ++i) {
        parts[i] = new dart_group_struct;
        // The first ones have one more where it does not come out even.
        for (size_t k = all / *nout + (i < all % *nout); k > 0; --k) parts[i]->units.insert(*unit++);
    }
    return DART_OK;
}

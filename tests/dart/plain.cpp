// The headers compile as C++, and its names link.
#include <cstdio>

#include "fanlight/dart.h"
#include "fanlight/fanlight.h"

int main(int argc, char** argv) {
    if (dart_init(&argc, &argv) != DART_OK) return 1;
    dart_gptr_t p = DART_GPTR_NULL;
    dart_team_unit_t mine = DART_UNDEFINED_TEAM_UNIT_ID;
    constexpr dart_global_unit_t first = 0;
    dart_global_unit_t global;
    if (dart_team_memalloc_aligned(DART_TEAM_ALL, 4, DART_TYPE_DOUBLE, &p) != DART_OK) return 1;
    if (dart_team_myid(DART_TEAM_ALL, &mine) != DART_OK || dart_gptr_setunit(&p, mine) != DART_OK) return 1;
    if (dart_team_unit_l2g(DART_TEAM_ALL, mine, &global) != DART_OK || global.id < first.id) return 1;
    if (dart_team_memfree(p) != DART_OK || dart_exit() != DART_OK) return 1;
    std::puts("ok");
}

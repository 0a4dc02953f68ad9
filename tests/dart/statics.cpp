// Global memory used by, and DART ended in, the destructors of static objects, older than all of
// the library's own that are made at their first use.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fanlight/dart.h"

namespace {

void done(dart_ret_t code) {
    if (code == DART_OK) return;
    std::puts("failed");
    std::fflush(stdout);
    std::_Exit(1);
}

struct Library {
    ~Library() {
        done(dart_exit());
        std::puts("ok");
    }
} library;

struct Value {
    dart_gptr_t all, here;
    int unit, units;

    ~Value() {
        const int mine = unit + 1;
        int right = 0, sum = 0;
        done(dart_put_blocking(here, &mine, 1, DART_TYPE_INT, DART_TYPE_INT));
        done(dart_barrier(DART_TEAM_ALL));
        dart_gptr_t there = all;
        done(dart_gptr_setunit(&there, (unit + 1) % units));
        done(dart_get_blocking(&right, there, 1, DART_TYPE_INT, DART_TYPE_INT));
        if (right != (unit + 1) % units + 1) done(DART_ERR_OTHER);
        done(dart_allreduce(&mine, &sum, 1, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_ALL));
        if (sum != units * (units + 1) / 2) done(DART_ERR_OTHER);
        dart_gptr_t own;
        done(dart_memalloc(100, DART_TYPE_DOUBLE, &own));
        done(dart_memfree(own));
        dart_team_t team;
        done(dart_team_clone(DART_TEAM_ALL, &team));
        done(dart_team_locality_init(team));
        done(dart_team_destroy(&team));
        done(dart_team_memfree(all));
    }
};
std::unique_ptr<Value> value;

}  // namespace

int main(int argc, char** argv) {
    done(dart_init(&argc, &argv));
    value = std::make_unique<Value>();
    done(dart_team_memalloc_aligned(DART_TEAM_ALL, 1, DART_TYPE_INT, &value->all));
    dart_global_unit_t unit;
    std::size_t units = 0;
    done(dart_myid(&unit));
    done(dart_size(&units));
    value->unit = unit.id;
    value->units = static_cast<int>(units);
    value->here = value->all;
    done(dart_gptr_setunit(&value->here, unit.id));
}

// The headers compile as C++, and its names link; DART's interface as C++ libraries over it use it:
// types as constants, units of classes derived from DART's, arrays of domains in a vector.
#include <cstdio>
#include <type_traits>
#include <vector>

#include <dash/dart/if/dart.h>
#include <dash/dart/if/dart_locality.h>

#include "fanlight/fanlight.h"

namespace {

template <class T>
struct Type : std::integral_constant<dart_datatype_t, DART_TYPE_UNDEFINED> {};
template <>
struct Type<unsigned long> : std::integral_constant<dart_datatype_t, DART_TYPE_ULONG> {};
template <dart_operation_t op>
struct Operation : std::integral_constant<dart_operation_t, op> {};

template <class Dart>
struct Unit : Dart {
    constexpr explicit Unit(dart_unit_t id) : Dart(id) {}
    constexpr Unit(Dart unit) : Dart(unit) {}
    constexpr operator dart_unit_t() const { return this->id; }
};
using TeamUnit = Unit<dart_team_unit_t>;

bool operator==(const dart_gptr_t& a, const dart_gptr_t& b) { return DART_GPTR_EQUAL(a, b); }

struct Found {
    unsigned long value;
    bool valid;
};
template <class T>
void largest(const void* in, void* inout, std::size_t n, void* limit) {
    const auto* a = static_cast<const Found*>(in);
    auto* b = static_cast<Found*>(inout);
    for (std::size_t i = 0; i < n; ++i)
        if (a[i].valid && a[i].value <= *static_cast<T*>(limit) && (!b[i].valid || b[i].value < a[i].value)) b[i] = a[i];
}

[[noreturn]] void stop() { dart_abort(DART_EXIT_ASSERT); }
void done(dart_ret_t code) {
    if (code != DART_OK) stop();
}

}  // namespace

int main(int argc, char** argv) {
    // Both interfaces in one program.
    if (fanlight_init() != FANLIGHT_OK || dart_initialized()) return 1;
    dart_thread_support_level_t threads;
    done(dart_init_thread(&argc, &argv, &threads));
    dart_gptr_t p = DART_GPTR_NULL, q = DART_GPTR_NULL;
    if (!DART_GPTR_ISNULL(p) || !(p == q)) stop();
    dart_team_unit_t mine = DART_UNDEFINED_TEAM_UNIT_ID;
    constexpr dart_global_unit_t first = 0;
    dart_global_unit_t global;
    done(dart_team_memalloc_aligned(DART_TEAM_ALL, 4, Type<unsigned long>::value, &p));
    done(dart_team_myid(DART_TEAM_ALL, &mine));
    done(dart_gptr_setunit(&p, TeamUnit(mine)));
    done(dart_team_unit_l2g(DART_TEAM_ALL, TeamUnit(mine), &global));
    if (global.id < first.id || TeamUnit(mine) != mine.id) stop();

    const unsigned long one = 1 + static_cast<unsigned long>(mine.id);
    unsigned long sum = 0;
    done(dart_put_blocking(p, &one, 1, Type<unsigned long>::value, Type<unsigned long>::value));
    done(dart_allreduce(&one, &sum, 1, Type<unsigned long>::value, Operation<DART_OP_SUM>::value, DART_TEAM_ALL));
    std::size_t units = 0;
    done(dart_size(&units));
    if (sum != units * (units + 1) / 2) stop();
    dart_datatype_t type = Type<Found>::value;
    dart_operation_t op = DART_OP_UNDEFINED;
    unsigned long limit = units;
    done(dart_type_create_custom(sizeof(Found), &type));
    done(dart_op_create(&largest<unsigned long>, &limit, true, type, true, &op));
    Found in{one, mine.id != 0 || units == 1}, out{};
    done(dart_allreduce(&in, &out, 1, type, op, DART_TEAM_ALL));
    done(dart_type_destroy(&type));
    done(dart_op_destroy(&op));
    if (!out.valid || out.value != units) stop();

    dart_unit_locality_t* place = nullptr;
    dart_domain_locality_t* domain = nullptr;
    done(dart_unit_locality(DART_TEAM_ALL, TeamUnit(mine), &place));
    done(dart_domain_team_locality(DART_TEAM_ALL, ".", &domain));
    done(dart_domain_find(domain, place->domain_tag, &domain));
    while (domain->scope > DART_LOCALITY_SCOPE_NODE) domain = domain->parent;
    std::vector<dart_domain_locality_t> parts(2);
    done(dart_domain_split_scope(domain, DART_LOCALITY_SCOPE_CORE, 2, parts.data()));
    if (parts[0].num_units + parts[1].num_units != domain->num_units) stop();

    done(dart_team_memfree(p));
    done(dart_exit());
    if (dart_exit() != DART_ERR_NOTINIT || !fanlight_initialized() || fanlight_exit() != FANLIGHT_OK) return 1;
    std::puts("ok");
}

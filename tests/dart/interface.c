// Every function of the DART interface, on any number of units.
#include "fanlight/dart.h"

#include "check.h"

#undef DO
#define DO(call) CHECK((call) == DART_OK)
#define BAD(call) CHECK((call) == DART_ERR_INVAL)

static int me, units;

// As DASH's structures lie in memory.
_Static_assert(DART_ERR_NOMEM == 5 && DART_LOCALITY_HOST_MAX_SIZE == 64, "values");
_Static_assert(sizeof(dart_hwinfo_t) == 276 && offsetof(dart_hwinfo_t, num_sockets) == 76 &&
                   offsetof(dart_hwinfo_t, num_sockets) == offsetof(dart_hwinfo_t, numa_id) + sizeof(int) &&
                   offsetof(dart_hwinfo_t, num_scopes) == 272, "dart_hwinfo_t");
_Static_assert(sizeof(dart_module_location_t) == 136 && offsetof(dart_module_location_t, pos) == 128, "dart_module_location_t");
_Static_assert(sizeof(dart_domain_locality_t) == 192 && offsetof(dart_domain_locality_t, children) == 144 &&
                   offsetof(dart_domain_locality_t, shared_mem_bytes) == 188, "dart_domain_locality_t");
_Static_assert(sizeof(dart_unit_locality_t) == 316 && offsetof(dart_unit_locality_t, domain_tag) == 284, "dart_unit_locality_t");

static void barrier(void) { DO(dart_barrier(DART_TEAM_ALL)); }

static dart_gptr_t at(dart_gptr_t p, int unit, uint64_t offset)
{
    DO(dart_gptr_setunit(&p, DART_TEAM_UNIT_ID(unit)));
    DO(dart_gptr_incaddr(&p, (int64_t)offset));
    return p;
}

static void groups_and_teams(void)
{
    dart_group_t g, h, both, none, parts[8];
    DO(dart_group_create(&g));
    for (int u = units - 1; u >= 0; u--)
        DO(dart_group_addmember(g, DART_GLOBAL_UNIT_ID(u)));
    DO(dart_group_clone(g, &h));
    DO(dart_group_delmember(h, DART_GLOBAL_UNIT_ID(0)));
    size_t size;
    DO(dart_group_size(h, &size));
    CHECK((int)size == units - 1);
    int32_t is = 7;
    DO(dart_group_ismember(h, DART_GLOBAL_UNIT_ID(0), &is));
    CHECK(!is);
    DO(dart_group_union(g, h, &both));
    DO(dart_group_intersect(g, h, &none));
    DO(dart_group_size(both, &size));
    CHECK((int)size == units);
    dart_global_unit_t members[64];
    DO(dart_group_getmembers(none, members));
    for (int i = 0; i < units - 1; i++)
        CHECK(members[i].id == i + 1);
    size_t n = 0, sum = 0;
    DO(dart_group_split(g, 3, &n, parts));
    CHECK((int)n == (units < 3 ? units : 3));
    for (size_t i = 0; i < n; i++) {
        DO(dart_group_size(parts[i], &size));
        sum += size;
        DO(dart_group_destroy(&parts[i]));
    }
    CHECK((int)sum == units);

    // Without unit 0, and of that its first unit alone.
    dart_team_t team = 5, copy = 5, single = 5;
    DO(dart_team_create(DART_TEAM_ALL, h, &team));
    CHECK((team == DART_TEAM_NULL) == (me == 0));
    if (team != DART_TEAM_NULL) {
        dart_team_unit_t mine;
        dart_global_unit_t global;
        DO(dart_team_myid(team, &mine));
        CHECK(mine.id == me - 1);
        DO(dart_team_unit_l2g(team, mine, &global));
        CHECK(global.id == me);
        DO(dart_team_unit_g2l(team, DART_GLOBAL_UNIT_ID(0), &mine));
        CHECK(mine.id == DART_UNDEFINED_UNIT_ID);
        DO(dart_team_clone(team, &copy));
        DO(dart_team_size(copy, &size));
        CHECK((int)size == units - 1 && copy != team);
        DO(dart_barrier(copy));
        dart_group_t of, one;
        DO(dart_team_get_group(team, &of));
        DO(dart_group_size(of, &size));
        CHECK((int)size == units - 1);
        DO(dart_group_create(&one));
        DO(dart_group_addmember(one, DART_GLOBAL_UNIT_ID(1)));
        DO(dart_team_create(team, one, &single));
        CHECK((single != DART_TEAM_NULL) == (me == 1));
        if (me == 1)
            DO(dart_team_destroy(&single));
        DO(dart_group_destroy(&of));
        DO(dart_group_destroy(&one));
        DO(dart_team_destroy(&copy));
        dart_team_t gone = team;
        DO(dart_team_destroy(&team));
        BAD(dart_barrier(gone));
    }
    // One unit's mistake is everybody's error, and nobody hangs.
    BAD(dart_team_create(DART_TEAM_ALL, h, me == 0 ? NULL : &team));
    BAD(dart_team_clone(DART_TEAM_ALL, me == 0 ? NULL : &team));
    DO(dart_group_destroy(&g));
    DO(dart_group_destroy(&h));
    DO(dart_group_destroy(&both));
    DO(dart_group_destroy(&none));
    CHECK(g == DART_GROUP_NULL);
    BAD(dart_team_size(1234, &size));
    DO(dart_size(&size));
    CHECK((int)size == units);
}

static void memory(void)
{
    dart_gptr_t p, local, null = DART_GPTR_NULL;
    CHECK(DART_GPTR_ISNULL(null) && sizeof p == 16);
    DO(dart_team_memalloc_aligned(DART_TEAM_ALL, 100, DART_TYPE_INT, &p));
    CHECK(p.unitid == 0 && p.teamid == DART_TEAM_ALL && p.segid != DART_SEGMENT_LOCAL);
    int *own;
    DO(dart_gptr_getaddr(at(p, me, 0), (void **)&own));
    void *other;
    DO(dart_gptr_getaddr(at(p, (me + 1) % units, 0), &other));
    CHECK(own && (units == 1 || !other));
    dart_gptr_t q = at(p, me, 0);
    DO(dart_gptr_setaddr(&q, own + 10));
    CHECK(q.addr_or_offs.offset == 40);
    uint16_t flags = 0;
    DO(dart_gptr_setflags(&q, 0x1234));
    DO(dart_gptr_getflags(q, &flags));
    CHECK(flags == 0x1234 && q.flags == 0x34);

    // Strided, indexed, and one into the other.
    dart_datatype_t column, list, custom;
    DO(dart_type_create_strided(DART_TYPE_INT, 10, 1, &column));
    size_t lengths[2] = {2, 3}, offsets[2] = {50, 3};
    DO(dart_type_create_indexed(DART_TYPE_INT, 2, lengths, offsets, &list));
    for (int i = 0; i < 100; i++)
        own[i] = 1000 * me + i;
    barrier();
    int right = (me + 1) % units, buffer[101];
    DO(dart_get_blocking(buffer, at(p, right, 4 * 7), 10, column, DART_TYPE_INT));
    for (int i = 0; i < 10; i++)
        CHECK(buffer[i] == 1000 * right + 10 * i + 7);
    DO(dart_get_blocking(buffer, at(p, right, 0), 5, list, DART_TYPE_INT));
    CHECK(buffer[0] == 1000 * right + 50 && buffer[1] == 1000 * right + 51 && buffer[4] == 1000 * right + 5);
    DO(dart_get_blocking(buffer, at(p, right, 0), 10, column, list));
    CHECK(buffer[50] == 1000 * right && buffer[51] == 1000 * right + 10 && buffer[3] == 1000 * right + 20);
    // Its next elements as far on as its first and its last are apart; an empty block counts for nothing.
    CHECK(buffer[99] == 1000 * right + 50 && buffer[100] == 1000 * right + 60 && buffer[52] == 1000 * right + 70);
    DO(dart_type_destroy(&list));
    DO(dart_type_create_indexed(DART_TYPE_INT, 3, (size_t[]){1, 0, 1}, (size_t[]){2, 0, 4}, &list));
    DO(dart_get_blocking(buffer, at(p, right, 0), 4, list, DART_TYPE_INT));
    CHECK(buffer[0] == 1000 * right + 2 && buffer[1] == 1000 * right + 4 && buffer[2] == 1000 * right + 5 &&
          buffer[3] == 1000 * right + 7);
    BAD(dart_get_blocking(buffer, p, 3, list, DART_TYPE_INT));
    BAD(dart_get_blocking(buffer, p, 4, DART_TYPE_INT, DART_TYPE_FLOAT));
    BAD(dart_get_blocking(buffer, p, SIZE_MAX / 4 + 2, DART_TYPE_INT, DART_TYPE_INT));
    BAD(dart_get_blocking(buffer, p, SIZE_MAX / 4 + 2, column, DART_TYPE_INT));
    BAD(dart_put_blocking(at(p, right, 4 * 10), buffer, 10, DART_TYPE_INT, column));  // leaves the segment
    BAD(dart_put_blocking(p, buffer, 1, (dart_datatype_t)7777, (dart_datatype_t)7777));
    BAD(dart_type_create_strided(DART_TYPE_INT, SIZE_MAX / 2, 1, &custom));
    BAD(dart_type_create_indexed(DART_TYPE_INT, 1, (size_t[]){1}, (size_t[]){SIZE_MAX / 4}, &custom));
    DO(dart_get_blocking(NULL, p, 0, DART_TYPE_INT, DART_TYPE_INT));
    DO(dart_put_blocking(p, NULL, 0, column, list));
    CHECK(dart_team_memalloc_aligned(DART_TEAM_ALL, 1, me == 0 ? column : DART_TYPE_INT, &q) != DART_OK);
    BAD(dart_memalloc(SIZE_MAX / 2, DART_TYPE_INT, &q));
    BAD(dart_get_blocking(buffer, at(p, 0, 0), 101, DART_TYPE_INT, DART_TYPE_INT));
    BAD(dart_get_blocking(buffer, at(p, units, 0), 1, DART_TYPE_INT, DART_TYPE_INT));
    barrier();
    DO(dart_type_destroy(&column));
    DO(dart_type_destroy(&list));
    BAD(dart_type_destroy(&list));
    DO(dart_type_create_custom(12, &custom));
    DO(dart_put_blocking(at(p, right, 0), buffer, 3, custom, custom));
    barrier();
    // Custom types as the elements of others; those of one length are the same.
    for (int i = 0; i < 100; i++)
        own[i] = 1000 * me + i;
    barrier();
    dart_datatype_t same, longer;
    DO(dart_type_create_custom(12, &same));
    DO(dart_type_create_custom(16, &longer));
    DO(dart_type_create_strided(custom, 2, 1, &column));
    DO(dart_type_create_indexed(same, 2, (size_t[]){1, 2}, (size_t[]){9, 1}, &list));
    DO(dart_get_blocking(buffer, at(p, right, 0), 4, column, same));
    for (int i = 0; i < 12; i++)
        CHECK(buffer[i] == 1000 * right + i / 3 * 6 + i % 3);
    DO(dart_get_blocking(buffer, at(p, right, 0), 3, list, custom));
    for (int i = 0; i < 9; i++)
        CHECK(buffer[i] == 1000 * right + (i < 3 ? 27 : 0) + i);
    DO(dart_get_blocking(buffer, at(p, right, 0), 3, column, list));
    CHECK(buffer[27] == 1000 * right && buffer[3] == 1000 * right + 6 && buffer[8] == 1000 * right + 14);
    BAD(dart_get_blocking(buffer, p, 1, custom, longer));
    BAD(dart_get_blocking(buffer, p, 1, longer, DART_TYPE_LONG_DOUBLE));
    BAD(dart_type_create_strided(column, 2, 1, &longer));
    barrier();
    const dart_datatype_t made[] = {custom, same, longer, column, list};
    for (int i = 0; i < 5; i++)
        DO(dart_type_destroy(&(dart_datatype_t){made[i]}));

    int v = 77 + me, got = 0;
    DO(dart_put_blocking(at(p, right, 0), &v, 1, DART_TYPE_INT, DART_TYPE_INT));
    DO(dart_put(at(p, right, 4), &v, 1, DART_TYPE_INT, DART_TYPE_INT));
    DO(dart_flush(at(p, right, 0)));
    DO(dart_flush_local(at(p, right, 0)));
    DO(dart_flush_all(p));
    DO(dart_flush_local_all(p));
    dart_handle_t hs[4], stale;
    int32_t done = 0;
    DO(dart_put_handle(at(p, right, 8), &v, 1, DART_TYPE_INT, DART_TYPE_INT, &hs[0]));
    DO(dart_put_handle(at(p, right, 12), &v, 1, DART_TYPE_INT, DART_TYPE_INT, &hs[1]));
    hs[2] = DART_HANDLE_NULL;
    DO(dart_waitall(hs, 3));
    DO(dart_get_handle(&got, at(p, right, 8), 1, DART_TYPE_INT, DART_TYPE_INT, &hs[0]));
    stale = hs[0];
    while (!done)
        DO(dart_test(&hs[0], &done));
    CHECK(got == v && hs[0] == DART_HANDLE_NULL);
    if (stale != DART_HANDLE_NULL)  // as it is where the get was complete at once
        BAD(dart_wait(&stale));
    DO(dart_wait(&hs[0]));
    DO(dart_get_handle(&got, at(p, right, 8), 1, DART_TYPE_INT, DART_TYPE_INT, &hs[0]));
    DO(dart_wait_local(&hs[0]));
    DO(dart_get_handle(&got, at(p, right, 8), 1, DART_TYPE_INT, DART_TYPE_INT, &hs[0]));
    DO(dart_waitall_local(hs, 1));
    DO(dart_put_handle(at(p, right, 16), &v, 1, DART_TYPE_INT, DART_TYPE_INT, &hs[0]));
    DO(dart_handle_free(&hs[0]));
    DO(dart_put_handle(at(p, right, 16), &v, 1, DART_TYPE_INT, DART_TYPE_INT, &hs[0]));
    for (done = 0; !done;)
        DO(dart_testall(hs, 1, &done));
    DO(dart_get_handle(&got, at(p, right, 16), 1, DART_TYPE_INT, DART_TYPE_INT, &hs[0]));
    for (done = 0; !done;)
        DO(dart_testall_local(hs, 1, &done));
    DO(dart_test_local(&hs[0], &done));
    barrier();
    int left = (me + units - 1) % units;
    for (int i = 0; i < 5; i++)
        CHECK(own[i] == 77 + left);
    barrier();

    // Atomics.
    memset(own, 0, 400);
    barrier();
    for (int i = 0; i < 20; i++) {
        int one[2] = {1, 10}, before;
        DO(dart_accumulate(at(p, i % units, 0), one, 2, DART_TYPE_INT, DART_OP_SUM));
        DO(dart_accumulate_blocking_local(at(p, i % units, 0), one, 1, DART_TYPE_INT, DART_OP_SUM));
        DO(dart_fetch_and_op(at(p, i % units, 0), one, &before, DART_TYPE_INT, DART_OP_SUM));
    }
    DO(dart_flush_all(p));
    barrier();
    int sums[2] = {own[0], own[1]}, total[2];
    DO(dart_allreduce(sums, total, 2, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_ALL));
    CHECK(total[0] == 60 * units && total[1] == 200 * units);
    BAD(dart_accumulate(p, sums, 1, DART_TYPE_INT, DART_OP_MINMAX));
    barrier();
    own[0] = 5;
    int compare = 5, wanted = 6, before = 0;
    DO(dart_compare_and_swap(at(p, me, 0), &wanted, &compare, &before, DART_TYPE_INT));
    CHECK(before == 5 && own[0] == 6);
    BAD(dart_compare_and_swap(at(p, me, 0), &wanted, &compare, &before, DART_TYPE_FLOAT));
    barrier();
    DO(dart_team_memfree(p));
    BAD(dart_team_memfree(p));
    BAD(dart_put_blocking(p, &v, 1, DART_TYPE_INT, DART_TYPE_INT));
    DO(dart_team_memfree(null));

    DO(dart_memalloc(10, DART_TYPE_DOUBLE, &local));
    CHECK(local.segid == DART_SEGMENT_LOCAL && local.unitid == me);
    DO(dart_memfree(local));
    BAD(dart_memfree(local));

    double mine[8] = {me};
    DO(dart_team_memregister_aligned(DART_TEAM_ALL, 8, DART_TYPE_DOUBLE, mine, &p));
    DO(dart_team_memregister(DART_TEAM_ALL, (size_t)me % 3, DART_TYPE_DOUBLE, mine, &q));
    barrier();
    double theirs = -1;
    DO(dart_get_blocking(&theirs, at(p, right, 0), 1, DART_TYPE_DOUBLE, DART_TYPE_DOUBLE));
    CHECK(theirs == right);
    barrier();
    DO(dart_team_memderegister(q));
    DO(dart_team_memderegister(p));

    dart_allocator_t pool;
    DO(dart_allocator_new(1024, DART_TEAM_ALL, &pool));
    DO(dart_allocator_alloc(16, DART_TYPE_INT, &p, pool));
    CHECK(p.unitid == me);
    CHECK(dart_allocator_alloc(1000, DART_TYPE_INT, &q, pool) == DART_ERR_NOMEM && DART_GPTR_ISNULL(q));
    DO(dart_put_blocking(p, &v, 1, DART_TYPE_INT, DART_TYPE_INT));
    q = p;
    DO(dart_allocator_free(&p, pool));
    CHECK(DART_GPTR_ISNULL(p));
    BAD(dart_allocator_free(&q, pool));
    barrier();
    DO(dart_allocator_destroy(&pool));
}

// Each unit asks for its own share of 513 elements.
static void different_sizes(void)
{
    const int total = 513, longest = (total + units - 1) / units;
    const int mine = longest * (me + 1) <= total ? longest : total - longest * me < 0 ? 0 : total - longest * me;
    dart_gptr_t p;
    DO(dart_team_memalloc_aligned(DART_TEAM_ALL, (size_t)mine, DART_TYPE_INT, &p));
    const int right = (me + 1) % units, first = right * longest;
    for (int i = 0; i < longest && first + i < total; i++) {
        int value = 7 * (first + i), got = 0;
        DO(dart_put_blocking(at(p, right, 4 * (uint64_t)i), &value, 1, DART_TYPE_INT, DART_TYPE_INT));
        DO(dart_get_blocking(&got, at(p, right, 4 * (uint64_t)i), 1, DART_TYPE_INT, DART_TYPE_INT));
        CHECK(got == value);
    }
    barrier();
    int *own;
    DO(dart_gptr_getaddr(at(p, me, 0), (void **)&own));
    for (int i = 0; i < mine; i++)
        CHECK(own[i] == 7 * (me * longest + i));
    // A pointer past the end is one to calculate with, no memory.
    int *end;
    DO(dart_gptr_getaddr(at(p, me, 4 * (uint64_t)longest + 400), (void **)&end));
    CHECK(end == own + longest + 100);
    DO(dart_gptr_getaddr(at(p, units, 0), (void **)&end));
    CHECK(!end);
    int past;
    BAD(dart_get_blocking(&past, at(p, me, 4 * (uint64_t)longest), 1, DART_TYPE_INT, DART_TYPE_INT));
    barrier();
    DO(dart_team_memfree(p));
}

// Units give registered memory back when they like, in an order of their own.
static void registered_memory(void)
{
    enum { n = 5 };
    dart_gptr_t p[n];
    int *memory[n], v = 1, waited = 0;
    for (int i = 0; i < n; i++) {
        memory[i] = calloc(8, sizeof(int));
        DO(dart_team_memregister(DART_TEAM_ALL, 8, DART_TYPE_INT, memory[i], &p[i]));
        CHECK(p[i].segid < 0 && (i == 0 || p[i].segid == p[i - 1].segid - 1));
    }
    for (int i = 0; i < n; i++)
        DO(dart_put(at(p[i], (me + 1) % units, 4), &v, 1, DART_TYPE_INT, DART_TYPE_INT));
    for (int i = 0; i < n; i++)
        DO(dart_flush_all(p[i]));
    barrier();
    if (me > 0)  // until unit 0 has done all of it, alone
        DO(dart_recv(&waited, 1, DART_TYPE_INT, 5, DART_GLOBAL_UNIT_ID(0)));
    for (int i = 0; i < n; i++) {
        const int k = (i + me) % n;
        CHECK(memory[k][1] == 1);
        DO(dart_team_memderegister(p[k]));
        BAD(dart_team_memderegister(p[k]));
        BAD(dart_team_memfree(p[k]));
        BAD(dart_put_blocking(at(p[k], me, 0), &v, 1, DART_TYPE_INT, DART_TYPE_INT));
        free(memory[k]);
    }
    for (int u = 1; me == 0 && u < units; u++)
        DO(dart_send(&v, 1, DART_TYPE_INT, 5, DART_GLOBAL_UNIT_ID(u)));
    // What all have given back is used again.
    int here[4] = {0};
    dart_gptr_t q = DART_GPTR_NULL;
    for (int round = 0; round < 40; round++) {
        DO(dart_team_memregister(DART_TEAM_ALL, 4, DART_TYPE_INT, here, &q));
        CHECK(q.segid >= -(n + 2));
        DO(dart_team_memderegister(q));
    }
    DO(dart_team_memderegister(DART_GPTR_NULL));
}

// The numbers of segments are each team's own, and those of freed ones are given again.
static void numbers(void)
{
    dart_gptr_t a, b, c;
    DO(dart_team_memalloc_aligned(DART_TEAM_ALL, 4, DART_TYPE_INT, &a));
    DO(dart_team_memalloc_aligned(DART_TEAM_ALL, 4, DART_TYPE_INT, &b));
    CHECK(a.segid > 0 && b.segid > 0 && a.segid != b.segid);
    DO(dart_team_memfree(a));
    DO(dart_team_memalloc_aligned(DART_TEAM_ALL, 4, DART_TYPE_INT, &c));
    CHECK(c.segid == a.segid);
    dart_team_t team;
    int here = 0;
    DO(dart_team_clone(DART_TEAM_ALL, &team));
    DO(dart_team_memalloc_aligned(team, 4, DART_TYPE_INT, &a));
    CHECK(a.segid == 1 && a.teamid == team);
    DO(dart_team_memregister(team, 1, DART_TYPE_INT, &here, &a));
    CHECK(a.segid == -1);
    DO(dart_team_memregister(team, 1, DART_TYPE_INT, &here, &a));
    CHECK(a.segid == -2);
    if (me % 2)
        DO(dart_team_memderegister(a));
    // Its memory goes with the team.
    DO(dart_team_destroy(&team));
    CHECK(team == DART_TEAM_NULL);
    DO(dart_team_destroy(&team));
    BAD(dart_team_memfree(a));
    team = DART_TEAM_ALL;
    BAD(dart_team_destroy(&team));
    DO(dart_team_memfree(b));
    DO(dart_team_memfree(c));
}

static void pools(void)
{
    enum { pieces = 128 };
    dart_allocator_t pool;
    dart_gptr_t p[pieces], one;
    DO(dart_allocator_new(pieces * 32, DART_TEAM_ALL, &pool));
    for (int i = 0; i < pieces; i++)
        DO(dart_allocator_alloc(8, DART_TYPE_INT, &p[i], pool));
    CHECK(dart_allocator_alloc(8, DART_TYPE_INT, &one, pool) == DART_ERR_NOMEM && DART_GPTR_ISNULL(one));
    for (int i = 0; i < pieces; i++) {
        DO(dart_put_blocking(p[i], (int[8]){i}, 8, DART_TYPE_INT, DART_TYPE_INT));
        DO(dart_allocator_free(&p[i], pool));
    }
    DO(dart_allocator_alloc(8 * pieces, DART_TYPE_INT, &one, pool));
    DO(dart_allocator_free(&one, pool));
    DO(dart_allocator_destroy(&pool));
    // Of a length that is no number of pieces: all of it.
    DO(dart_allocator_new(100, DART_TEAM_ALL, &pool));
    DO(dart_allocator_alloc(100, DART_TYPE_BYTE, &one, pool));
    DO(dart_allocator_destroy(&pool));

    // All of one unit's own: /dev/shm may be too small for that of all.
    const size_t all = 16 << 20;
    one = (dart_gptr_t){.teamid = DART_TEAM_ALL, .segid = DART_SEGMENT_LOCAL};
    if (me == 0) {
        DO(dart_memalloc(all, DART_TYPE_BYTE, &one));
        CHECK(dart_memalloc(1, DART_TYPE_BYTE, &p[0]) == DART_ERR_NOMEM);
        DO(dart_put_blocking(at(one, 0, all - 1), "x", 1, DART_TYPE_BYTE, DART_TYPE_BYTE));
    }
    barrier();
    char got = 0;
    DO(dart_get_blocking(&got, at(one, 0, all - 1), 1, DART_TYPE_BYTE, DART_TYPE_BYTE));
    CHECK(got == 'x');
    barrier();
    if (me == 0)
        DO(dart_memfree(one));
}

// A unit that waits for its own memory to change, as for a halo's signal, lets the others at what they reach by MPI.
static void signals(void)
{
    enum { by_get, by_get_of_registered, by_fetch, by_swap, by_flush, by_lock, ways };
    dart_gptr_t allocated, registered;
    dart_lock_t lock;
    int memory = 0, *own;
    DO(dart_team_memalloc_aligned(DART_TEAM_ALL, 1, DART_TYPE_INT, &allocated));
    DO(dart_gptr_getaddr(at(allocated, me, 0), (void **)&own));
    DO(dart_team_memregister(DART_TEAM_ALL, 1, DART_TYPE_INT, &memory, &registered));
    DO(dart_team_lock_init(DART_TEAM_ALL, &lock));
    for (int way = 0; way < ways; way++) {
        *own = memory = 0;
        const int one = 1, all = units - 1;
        int before, seen = 0;
        int32_t held = way != by_lock || units == 1;
        if (way == by_lock && me == 1)
            DO(dart_lock_acquire(lock));
        barrier();
        if (me > 0) {
            DO(dart_fetch_and_op(registered, &one, &before, DART_TYPE_INT, DART_OP_SUM));
            DO(dart_fetch_and_op(allocated, &one, &before, DART_TYPE_INT, DART_OP_SUM));
        }
        if (way == by_lock && me == 1)
            DO(dart_lock_release(lock));
        while (me == 0 && (seen < all || !held)) {
            switch (way) {
                case by_get: DO(dart_get_blocking(&seen, allocated, 1, DART_TYPE_INT, DART_TYPE_INT)); break;
                case by_get_of_registered: DO(dart_get_blocking(&seen, registered, 1, DART_TYPE_INT, DART_TYPE_INT)); break;
                case by_fetch: DO(dart_fetch_and_op(allocated, NULL, &seen, DART_TYPE_INT, DART_OP_NO_OP)); break;
                case by_swap: DO(dart_compare_and_swap(allocated, &all, &all, &seen, DART_TYPE_INT)); break;
                case by_flush:
                    DO(dart_flush(allocated));
                    seen = *(volatile int *)own;
                    break;
                default:
                    DO(dart_lock_try_acquire(lock, &held));
                    seen = all;
            }
        }
        if (way == by_lock && me == 0 && units > 1)
            DO(dart_lock_release(lock));
        barrier();
        CHECK(me > 0 || memory == all);
    }
    DO(dart_team_lock_destroy(&lock));
    DO(dart_team_memderegister(registered));
    DO(dart_team_memfree(allocated));
}

static void largest(const void *in, void *inout, size_t n, void *limit)
{
    const int *a = in;
    int *b = inout;
    for (size_t i = 0; i < n; i++)
        if (a[i] > b[i] && a[i] <= *(int *)limit)
            b[i] = a[i];
}

typedef struct { double value; int unit; } Place;
static void best(const void *in, void *inout, size_t n, void *unused)
{
    (void)unused;
    for (size_t i = 0; i < n; i++)
        if (((const Place *)in)[i].value > ((Place *)inout)[i].value)
            ((Place *)inout)[i] = ((const Place *)in)[i];
}

static void messages(void)
{
    int in[64], out[64];
    for (int root = 0; root < units; root++) {
        in[0] = me == root ? 42 + root : 0;
        DO(dart_bcast(in, 1, DART_TYPE_INT, DART_TEAM_UNIT_ID(root), DART_TEAM_ALL));
        CHECK(in[0] == 42 + root);
        in[0] = me;
        DO(dart_gather(in, out, 1, DART_TYPE_INT, DART_TEAM_UNIT_ID(root), DART_TEAM_ALL));
        for (int u = 0; me == root && u < units; u++)
            CHECK(out[u] == u);
        for (int u = 0; u < units; u++)
            in[u] = 3 * u;
        DO(dart_scatter(in, out, 1, DART_TYPE_INT, DART_TEAM_UNIT_ID(root), DART_TEAM_ALL));
        CHECK(out[0] == 3 * me);
        in[0] = me + 1;
        DO(dart_reduce(in, out, 1, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_UNIT_ID(root), DART_TEAM_ALL));
        CHECK(me != root || out[0] == units * (units + 1) / 2);
    }
    BAD(dart_bcast(in, 1, DART_TYPE_INT, DART_TEAM_UNIT_ID(units), DART_TEAM_ALL));
    if (units == 1)  // more than MPI's int counts, of which nothing is moved
        DO(dart_bcast(in, (size_t)3 << 30, DART_TYPE_INT, DART_TEAM_UNIT_ID(0), DART_TEAM_ALL));
    in[0] = 7 * me;
    DO(dart_allgather(in, out, 1, DART_TYPE_INT, DART_TEAM_ALL));
    size_t counts[64], starts[64], send_starts[64], zero[64] = {0};
    for (int u = 0; u < units; u++) {
        CHECK(out[u] == 7 * u);
        counts[u] = 1;
        starts[u] = (size_t)(units - 1 - u);
        send_starts[u] = (size_t)u;
    }
    DO(dart_allgatherv(in, 1, DART_TYPE_INT, out, counts, starts, DART_TEAM_ALL));
    for (int u = 0; u < units; u++)
        CHECK(out[units - 1 - u] == 7 * u);
    for (int u = 0; u < units; u++)
        in[u] = 100 * me + u;
    DO(dart_alltoall(in, out, 1, DART_TYPE_INT, DART_TEAM_ALL));
    for (int u = 0; u < units; u++)
        CHECK(out[u] == 100 * u + me);
    DO(dart_alltoallv(in, out, counts, send_starts, counts, starts, DART_TYPE_INT, DART_TEAM_ALL));
    for (int u = 0; u < units; u++)
        CHECK(out[units - 1 - u] == 100 * u + me);
    (void)zero;
    in[0] = 1;
    DO(dart_exscan(in, out, 1, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_ALL));
    CHECK(me == 0 || out[0] == me);

    int limit = units / 2, mine = me, result = -1;
    dart_operation_t op;
    DO(dart_op_create(largest, &limit, true, DART_TYPE_INT, false, &op));
    mine = me <= limit ? me : -1;
    DO(dart_allreduce(&mine, &result, 1, DART_TYPE_INT, op, DART_TEAM_ALL));
    CHECK(result == (limit < units ? limit : units - 1));
    DO(dart_op_destroy(&op));
    CHECK(op == DART_OP_UNDEFINED);
    dart_datatype_t place;
    DO(dart_type_create_custom(sizeof(Place), &place));
    DO(dart_op_create(best, NULL, true, place, true, &op));
    Place p = {(me * 7) % units, me}, q;
    memset(&q, 0, sizeof q);
    DO(dart_allreduce(&p, &q, 1, place, op, DART_TEAM_ALL));
    CHECK((q.unit * 7) % units == (int)q.value);
    DO(dart_op_destroy(&op));
    DO(dart_type_destroy(&place));
    double pair[2] = {me, 10 + me}, both[2];
    DO(dart_allreduce(pair, both, 2, DART_TYPE_DOUBLE, DART_OP_MINMAX, DART_TEAM_ALL));
    CHECK(both[DART_OP_MINMAX_MIN] == 0 && both[DART_OP_MINMAX_MAX] == 9 + units);
    BAD(dart_allreduce(pair, both, 1, DART_TYPE_DOUBLE, DART_OP_MINMAX, DART_TEAM_ALL));
    BAD(dart_allreduce(pair, both, 2, DART_TYPE_DOUBLE, DART_OP_BAND, DART_TEAM_ALL));

    int right = (me + 1) % units, left = (me + units - 1) % units, got = -1;
    DO(dart_sendrecv(&me, 1, DART_TYPE_INT, 3, DART_GLOBAL_UNIT_ID(right), &got, 1, DART_TYPE_INT, 3,
                     DART_GLOBAL_UNIT_ID(left)));
    CHECK(got == left);
    if (units > 1) {
        if (me % 2 == 0 && me + 1 < units)
            DO(dart_send(&me, 1, DART_TYPE_INT, 4, DART_GLOBAL_UNIT_ID(me + 1)));
        if (me % 2 == 1) {
            DO(dart_recv(&got, 1, DART_TYPE_INT, 4, DART_GLOBAL_UNIT_ID(me - 1)));
            CHECK(got == me - 1);
        }
    }
}

static void locks(void)
{
    dart_lock_t lock = DART_LOCK_NULL;
    CHECK(!dart_lock_initialized(lock));
    DO(dart_team_lock_init(DART_TEAM_ALL, &lock));
    CHECK(dart_lock_initialized(lock));
    dart_gptr_t p;
    DO(dart_team_memalloc_aligned(DART_TEAM_ALL, 1, DART_TYPE_INT, &p));
    for (int i = 0; i < 50; i++) {
        int32_t got = 0;
        int n;
        while (i % 2 && !got)
            DO(dart_lock_try_acquire(lock, &got));
        if (!got)
            DO(dart_lock_acquire(lock));
        DO(dart_get_blocking(&n, p, 1, DART_TYPE_INT, DART_TYPE_INT));
        n++;
        DO(dart_put_blocking(p, &n, 1, DART_TYPE_INT, DART_TYPE_INT));
        DO(dart_lock_release(lock));
    }
    BAD(dart_lock_release(lock));
    barrier();
    int n;
    DO(dart_get_blocking(&n, p, 1, DART_TYPE_INT, DART_TYPE_INT));
    CHECK(n == 50 * units);
    barrier();
    dart_lock_t gone = lock;
    DO(dart_team_lock_destroy(&lock));
    CHECK(!dart_lock_initialized(gone));
    BAD(dart_lock_acquire(gone));
    DO(dart_team_lock_destroy(&gone));
    CHECK(gone == DART_LOCK_NULL);
    DO(dart_team_lock_destroy(&gone));
    dart_team_t team;
    DO(dart_team_clone(DART_TEAM_ALL, &team));
    DO(dart_team_lock_init(team, &gone));
    DO(dart_team_destroy(&team));
    DO(dart_team_lock_destroy(&gone));
    CHECK(gone == DART_LOCK_NULL);
    BAD(dart_team_lock_destroy(NULL));
    DO(dart_team_memfree(p));
}

static void locality(void)
{
    dart_domain_locality_t *all, *copy, *found, *split, *fresh;
    DO(dart_domain_team_locality(DART_TEAM_ALL, ".", &all));
    CHECK(all->scope == DART_LOCALITY_SCOPE_GLOBAL && all->num_units == units && all->num_nodes >= 1);
    dart_unit_locality_t *mine;
    DO(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(me), &mine));
    const dart_hwinfo_t *hw = &mine->hwinfo;
    CHECK(hw->num_sockets == -1 || hw->num_sockets >= 1);
    CHECK(mine->unit.id == me && strlen(hw->host) > 0 && hw->num_cores == 1 && hw->max_threads >= 1);
    // From the unit's core to all: nodes, modules, NUMA domains, packages, caches as there are.
    CHECK(hw->num_scopes >= 7 && hw->num_scopes <= DART_LOCALITY_MAX_DOMAIN_SCOPES);
    const dart_locality_scope_t always[] = {DART_LOCALITY_SCOPE_CORE,    DART_LOCALITY_SCOPE_UNIT,   DART_LOCALITY_SCOPE_NUMA,
                                            DART_LOCALITY_SCOPE_PACKAGE, DART_LOCALITY_SCOPE_MODULE, DART_LOCALITY_SCOPE_NODE,
                                            DART_LOCALITY_SCOPE_GLOBAL};
    int caches = 0;
    for (int l = 0; l < DART_LOCALITY_MAX_CACHE_LEVELS; l++) {
        CHECK(hw->cache_sizes[l] == -1 || hw->cache_sizes[l] > 0);
        caches += hw->cache_ids[l] >= 0;
    }
    CHECK(hw->num_scopes == 7 + caches);
    for (int i = 0; i < 7; i++) {
        int times = 0;
        for (int k = 0; k < hw->num_scopes; k++)
            times += hw->scopes[k].scope == always[i];
        CHECK(times == 1);
    }
    BAD(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(units), &mine));
    DO(dart_domain_find(all, mine->domain_tag, &found));
    CHECK(found->scope == DART_LOCALITY_SCOPE_CORE && found->num_units == 1 && found->unit_ids[0].id == me);
    CHECK(found->parent->scope == DART_LOCALITY_SCOPE_UNIT && found->level == hw->num_scopes - 1);
    CHECK(dart_domain_find(all, ".99", &found) == DART_ERR_NOTFOUND && !found);
    BAD(dart_domain_destroy(all));
    BAD(dart_domain_destroy(all->children[0]));
    BAD(dart_domain_add_subdomain(all->children[0], all, 0));
    int n;
    char **tags;
    dart_domain_locality_t **domains;
    DO(dart_domain_scope_tags(all, DART_LOCALITY_SCOPE_UNIT, &n, &tags));
    CHECK(n == units);
    // The tree's order is not that of the units.
    DO(dart_domain_find(all, tags[units - 1], &found));
    const int last = found->unit_ids[0].id;
    DO(dart_domain_scope_domains(all, DART_LOCALITY_SCOPE_NODE, &n, &domains));
    CHECK(n == all->num_nodes && domains[0]->parent == all);
    free(domains);
    DO(dart_domain_clone(all, &copy));
    CHECK(copy->num_units == units && copy->children[0] != all->children[0]);
    const char *first[1] = {tags[0]}, *ends[2] = {tags[0], tags[units - 1]};
    DO(dart_domain_exclude(copy, 1, first));
    // Nothing else has its tag now.
    CHECK(copy->num_units == units - 1 && dart_domain_find(copy, tags[0], &found) == DART_ERR_NOTFOUND);
    CHECK(units < 2 || (dart_domain_find(copy, tags[units - 1], &found) == DART_OK && found->unit_ids[0].id == last));
    DO(dart_domain_assign(copy, all));
    DO(dart_domain_select(copy, 1, first));
    CHECK(copy->num_units == 1);
    DO(dart_domain_assign(copy, all));
    char group[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];
    DO(dart_domain_group(copy, 1, first, group));
    DO(dart_domain_find(copy, group, &found));
    CHECK(found->scope == DART_LOCALITY_SCOPE_GROUP && found->num_units == 1 && copy->num_units == units);
    // Of domains with different parents as well.
    if (units > 1) {
        DO(dart_domain_assign(copy, all));
        DO(dart_domain_group(copy, 2, ends, group));
        DO(dart_domain_find(copy, group, &found));
        CHECK(found->num_units == 2 && found->unit_ids[0].id == 0 && found->unit_ids[1].id == last);
        CHECK(copy->num_units == units);
        BAD(dart_domain_group(copy, 2, (const char *[]){".0", ".0.0"}, group));
    }
    DO(dart_domain_move_subdomain(found, copy, 0));
    CHECK(strcmp(found->domain_tag, ".0") == 0 && found->parent == copy);
    BAD(dart_domain_move_subdomain(found, found->children[0], 0));
    DO(dart_domain_create(&fresh));
    DO(dart_domain_add_subdomain(copy, fresh, 1));
    BAD(dart_domain_add_subdomain(copy, all, 0));
    CHECK(copy->children[1] == fresh && strcmp(fresh->domain_tag, ".1") == 0);
    // It keeps its place.
    DO(dart_domain_assign(fresh, copy->children[0]));
    CHECK(fresh->relative_index == 1 && fresh->parent == copy);
    // Into three parts, each the whole tree with some of its units.
    split = calloc(3, sizeof *split);
    DO(dart_domain_split_scope(all, DART_LOCALITY_SCOPE_UNIT, 3, split));
    int in_parts = 0;
    for (int i = 0; i < 3; i++) {
        CHECK(split[i].scope == DART_LOCALITY_SCOPE_GLOBAL && split[i].num_units >= units / 3);
        in_parts += split[i].num_units;
    }
    CHECK(in_parts == units);
    // Every unit is in a package and in a NUMA domain, if only in one that stands for several.
    const dart_locality_scope_t scopes[] = {DART_LOCALITY_SCOPE_PACKAGE, DART_LOCALITY_SCOPE_NUMA};
    for (int s = 0; s < 2; s++) {
        dart_domain_locality_t halves[2];
        DO(dart_domain_scope_domains(all, scopes[s], &n, &domains));
        CHECK(n >= all->num_nodes && domains[0]->num_cores >= 1 && domains[0]->num_cores <= all->num_cores);
        free(domains);
        DO(dart_domain_split_scope(all, scopes[s], 2, halves));
        CHECK(halves[0].num_units + halves[1].num_units == units && halves[0].num_units > 0);
        CHECK(n < 2 || halves[1].num_units > 0);
    }
    dart_group_t everybody, parts[8];
    size_t nout = 0, size = 0, sum = 0;
    DO(dart_team_get_group(DART_TEAM_ALL, &everybody));
    DO(dart_group_locality_split(everybody, all, DART_LOCALITY_SCOPE_UNIT, 8, &nout, parts));
    for (size_t i = 0; i < nout; i++) {
        DO(dart_group_size(parts[i], &size));
        sum += size;
        DO(dart_group_destroy(&parts[i]));
    }
    CHECK((int)sum == units);
    DO(dart_group_destroy(&everybody));
    free(split);
    DO(dart_domain_destroy(copy));
    for (int i = 0; i < units; i++)
        free(tags[i]);
    free(tags);
    dart_team_t team;
    DO(dart_team_clone(DART_TEAM_ALL, &team));
    const dart_team_unit_t zero = DART_TEAM_UNIT_ID(0);
    BAD(dart_unit_locality(team, zero, &mine));
    DO(dart_team_locality_init(team));
    DO(dart_unit_locality(team, zero, &mine));
    dart_unit_locality_t *again;
    DO(dart_team_locality_init(team));
    DO(dart_unit_locality(team, zero, &again));
    CHECK(again == mine);
    DO(dart_team_locality_finalize(team));
    DO(dart_team_destroy(&team));
}

// Before dart_init and after dart_exit.
static void outside(void)
{
    size_t size = 0;
    int v = 0;
    int32_t is = 0;
    dart_gptr_t p = {.unitid = 0, .segid = 0, .teamid = 0};
    dart_handle_t h = (dart_handle_t)(intptr_t)77;
    dart_lock_t lock = DART_LOCK_NULL;
    dart_datatype_t type = DART_TYPE_LAST + 1;
    dart_operation_t op = DART_OP_LAST + 1;
    dart_team_t team;
    dart_unit_locality_t *locality;
#define NOT_UP(call) CHECK((call) == DART_ERR_NOTINIT)
    NOT_UP(dart_barrier(DART_TEAM_ALL));
    NOT_UP(dart_size(&size));
    NOT_UP(dart_team_clone(DART_TEAM_ALL, &team));
    NOT_UP(dart_team_memalloc_aligned(DART_TEAM_ALL, 1, DART_TYPE_INT, &p));
    NOT_UP(dart_memalloc(1, DART_TYPE_INT, &p));
    NOT_UP(dart_put_blocking(p, &v, 1, DART_TYPE_INT, DART_TYPE_INT));
    NOT_UP(dart_get(&v, p, 1, DART_TYPE_INT, DART_TYPE_INT));
    NOT_UP(dart_accumulate(p, &v, 1, DART_TYPE_INT, DART_OP_SUM));
    NOT_UP(dart_flush(p));
    NOT_UP(dart_wait(&h));
    NOT_UP(dart_allreduce(&v, &v, 1, DART_TYPE_INT, DART_OP_SUM, DART_TEAM_ALL));
    NOT_UP(dart_send(&v, 1, DART_TYPE_INT, 0, DART_GLOBAL_UNIT_ID(0)));
    NOT_UP(dart_team_lock_init(DART_TEAM_ALL, &lock));
    NOT_UP(dart_lock_try_acquire(lock, &is));
    NOT_UP(dart_type_create_custom(8, &type));
    NOT_UP(dart_type_destroy(&type));
    NOT_UP(dart_op_create(largest, NULL, true, DART_TYPE_INT, false, &op));
    NOT_UP(dart_op_destroy(&op));
    NOT_UP(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(0), &locality));
}

int main(int argc, char **argv)
{
    size_t size = 0;
    CHECK(!dart_initialized());
    outside();
    dart_thread_support_level_t threads;
    DO(dart_init_thread(&argc, &argv, &threads));
    CHECK(threads == DART_THREAD_MULTIPLE && dart_initialized());
    BAD(dart_init(&argc, &argv));
    dart_global_unit_t unit;
    DO(dart_myid(&unit));
    DO(dart_size(&size));
    check_unit = me = unit.id;
    units = (int)size;
    dart_config_t *config;
    dart_config(&config);
    CHECK(config->log_enabled);
    groups_and_teams();
    memory();
    different_sizes();
    registered_memory();
    numbers();
    pools();
    signals();
    messages();
    locks();
    locality();
    // Some have given it back when it ends, some have not.
    dart_gptr_t left;
    DO(dart_team_memregister(DART_TEAM_ALL, 1, DART_TYPE_INT, &threads, &left));
    if (me % 2)
        DO(dart_team_memderegister(left));
    DO(dart_exit());
    CHECK(!dart_initialized() && dart_exit() == DART_ERR_NOTINIT);
    outside();
    if (me == 0)
        printf("ok\n");
    return 0;
}

// Every function of fanlight/global.h, on any number of units: memory [part...]
#include "check.h"
#include "fanlight/fanlight.h"

#include <pthread.h>
#include <unistd.h>

static int me, units;

// What unit `from` puts to unit `to` in round `round`.
static int64_t value(int from, int to, int round) { return 1000003LL * from + 1009LL * to + 31LL * round + 7; }

static void barrier(void) { DO(fanlight_team_barrier(FANLIGHT_TEAM_ALL)); }

static void pointers(void)
{
    fanlight_pointer p = {3, 4, 100};
    CHECK(sizeof p == 16);
    fanlight_pointer q = fanlight_add(p, -36);
    CHECK(q.unit == 3 && q.segment == 4 && q.offset == 64);
    q = fanlight_at(p, 1, 8);
    CHECK(q.unit == 1 && q.segment == 4 && q.offset == 8);
}

static void put_and_get(void)
{
    enum { words = 1000 };
    int64_t here = 0;
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_get(&here, (fanlight_pointer){0, 12345, 0}, 8));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_put((fanlight_pointer){0, 12345, 0}, &here, 8));
    fanlight_pointer p;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, (size_t)units * words * 8, 4096, &p));
    CHECK(p.unit == 0 && p.offset == 0);
    int64_t *own = fanlight_ptr(fanlight_at(p, me, 0));
    CHECK(own && (uintptr_t)own % 4096 == 0);
    static int64_t line[words];
    int round = 0;
    // Blocking, begun and flushed, with handles; everybody writes its row at everybody.
    for (int way = 0; way < 4; way++, round++) {
        memset(own, 0xee, (size_t)units * words * 8);
        barrier();
        for (int to = 0; to < units; to++) {
            for (int i = 0; i < words; i++)
                line[i] = value(me, to, round) + i;
            fanlight_pointer there = fanlight_at(p, to, (uint64_t)me * words * 8);
            if (way == 0) {
                DO(fanlight_put(there, line, sizeof line));
            } else if (way == 1) {
                DO(fanlight_put_begin(there, line, sizeof line));
                DO(fanlight_flush_local(there));
            } else if (way == 2) {
                fanlight_handle h[2];
                DO(fanlight_put_handle(there, line, sizeof line / 2, &h[0]));
                DO(fanlight_put_handle(fanlight_add(there, sizeof line / 2), line + words / 2, sizeof line / 2,
                                       &h[1]));
                // Null where the put is complete already.
                CHECK((h[0] == FANLIGHT_HANDLE_NULL) == (fanlight_ptr(there) != NULL));
                CHECK(h[0] == FANLIGHT_HANDLE_NULL || h[0] != h[1]);
                DO(fanlight_waitall(h, 2));
                CHECK(h[0] == FANLIGHT_HANDLE_NULL && h[1] == FANLIGHT_HANDLE_NULL);
            } else {
                fanlight_handle h;
                int done = 0;
                DO(fanlight_put_handle(there, line, sizeof line, &h));
                while (!done)
                    DO(fanlight_test(&h, &done));
                CHECK(h == FANLIGHT_HANDLE_NULL);
            }
        }
        if (way == 1)
            DO(fanlight_flush_all(p));
        barrier();
        for (int from = 0; from < units; from++)
            for (int i = 0; i < words; i++)
                CHECK(own[from * words + i] == value(from, me, round) + i);
        // And back.
        for (int at = 0; at < units; at++) {
            fanlight_pointer there = fanlight_at(p, at, (uint64_t)me * words * 8);
            memset(line, 0, sizeof line);
            if (way == 0) {
                DO(fanlight_get(line, there, sizeof line));
            } else if (way == 1) {
                DO(fanlight_get_begin(line, there, sizeof line));
                DO(fanlight_flush(there));
            } else {
                fanlight_handle h;
                DO(fanlight_get_handle(line, there, sizeof line, &h));
                int done = 0;
                if (way == 2)
                    DO(fanlight_wait_local(&h));
                while (way == 3 && !done)
                    DO(fanlight_testall_local(&h, 1, &done));
            }
            for (int i = 0; i < words; i++)
                CHECK(line[i] == value(me, at, round) + i);
        }
        DO(fanlight_flush_local_all(p));
        barrier();
    }
    // Of single bytes up to 17, on both sides of a word's border.
    for (int bytes = 0; bytes < 18; bytes++) {
        char out[17], in[17];
        memset(out, 'a' + me, sizeof out);
        fanlight_pointer there = fanlight_at(p, (me + 1) % units, 3);
        DO(fanlight_put(there, out, (size_t)bytes));
        DO(fanlight_get(in, there, (size_t)bytes));
        CHECK(memcmp(in, out, (size_t)bytes) == 0);
    }
    barrier();
    DO(fanlight_free(p));
}

static void strided_and_indexed(void)
{
    enum { n = 12 };
    fanlight_pointer p;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 8 * n * n, 0, &p));
    int64_t *own = fanlight_ptr(fanlight_at(p, me, 0)), local[n * n];
    for (int i = 0; i < n * n; i++)
        own[i] = -1;
    barrier();
    // A column of my right neighbor's matrix from a row of mine.
    fanlight_pointer right = fanlight_at(p, (me + 1) % units, 0);
    for (int i = 0; i < n; i++)
        local[i] = 100 * me + i;
    DO(fanlight_put_strided(fanlight_add(right, 8 * 5), 8 * n, local, 8, 8, n));
    barrier();
    int left = (me + units - 1) % units;
    for (int i = 0; i < n * n; i++)
        CHECK(own[i] == (i % n == 5 ? 100 * left + i / n : -1));
    memset(local, 0, sizeof local);
    DO(fanlight_get_strided(local, 16, fanlight_add(right, 8 * 5), 8 * n, 8, n));
    for (int i = 0; i < n; i++)
        CHECK(local[2 * i] == 100 * me + i && local[2 * i + 1] == 0);
    barrier();
    size_t lengths[3] = {16, 8, 24}, offsets[3] = {80, 0, 200};
    for (int i = 0; i < 6; i++)
        local[i] = 7000 + 10 * me + i;
    DO(fanlight_put_indexed(right, local, 3, lengths, offsets));
    memset(local, 0, sizeof local);
    DO(fanlight_get_indexed(local, right, 3, lengths, offsets));
    for (int i = 0; i < 6; i++)
        CHECK(local[i] == 7000 + 10 * me + i);
    barrier();
    CHECK(own[10] == 7000 + 10 * left && own[0] == 7000 + 10 * left + 2 && own[27] == 7000 + 10 * left + 5);
    WRONG(FANLIGHT_ERR_RANGE, fanlight_put_strided(right, 8 * n, local, 8, 8, n + 1));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_put_strided(right, SIZE_MAX / 2, local, 8, 8, n));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_get_strided(local, 16, right, 0, 16, SIZE_MAX / 16 + 1));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_put_strided(right, 0, local, 8, 8, n));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_get_strided(local, 4, right, 8, 8, n));
    DO(fanlight_get_strided(local, 8, right, 0, 8, n));  // one block n times
    barrier();
    DO(fanlight_free(p));
}

static void local_and_registered(void)
{
    fanlight_pointer mine, other;
    DO(fanlight_local_allocate(1000, &mine));
    CHECK(mine.unit == me);
    DO(fanlight_local_allocate(3000, &other));
    int64_t *here = fanlight_ptr(mine);
    here[0] = 5000 + me;
    fanlight_pointer all[64];
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int u = 0; u < units; u++) {
        int64_t got = 0;
        DO(fanlight_get(&got, all[u], 8));
        CHECK(got == 5000 + u);
    }
    barrier();
    DO(fanlight_local_free(mine));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_local_free(mine));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_local_free(fanlight_add(other, 8)));
    DO(fanlight_local_free(other));
    // All of it is one piece again.
    WRONG(FANLIGHT_ERR_MEMORY, fanlight_local_allocate(16777217, &mine));
    if (me == 0) {  // /dev/shm may be too small for that of all
        DO(fanlight_local_allocate(16777216, &mine));
        DO(fanlight_local_free(mine));
    }

    int64_t private[100];
    size_t bytes = 8 * (size_t)(me + 1);
    fanlight_pointer p, flags;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 16, 0, &flags));
    memset(fanlight_ptr(fanlight_at(flags, me, 0)), 0, 16);
    DO(fanlight_register(FANLIGHT_TEAM_ALL, private, bytes, &p));
    for (int i = 0; i < 100; i++)
        private[i] = 10 * me + i;
    CHECK(fanlight_ptr(fanlight_at(p, me, 0)) == private);
    barrier();
    for (int u = 0; u < units; u++) {
        int64_t got = 0;
        DO(fanlight_get(&got, fanlight_at(p, u, 8 * (uint64_t)u), 8));
        CHECK(got == 11 * u);
        WRONG(FANLIGHT_ERR_RANGE, fanlight_get(&got, fanlight_at(p, u, 8 * (uint64_t)u + 8), 8));
    }
    barrier();
    int64_t sent = 900 + me;
    DO(fanlight_put(fanlight_at(p, (me + 1) % units, 0), &sent, 8));
    barrier();
    CHECK(private[0] == 900 + (me + units - 1) % units);
    barrier();
    // Who waits for a flag, of before there was a window, does its part of what others do in the window.
    for (uint64_t way = 0; way < 2; way++) {
        int64_t set = 1, seen = 0;
        fanlight_handle handle;
        if (me == 0) {
            for (int u = 1; u < units; u++) {
                sent = 1000 + u;
                DO(fanlight_put(fanlight_at(p, u, 0), &sent, 8));
                DO(fanlight_put(fanlight_at(flags, u, 8 * way), &set, 8));
            }
        }
        while (me > 0 && !seen) {
            if (way == 0) {
                DO(fanlight_get(&seen, fanlight_at(flags, me, 0), 8));
            } else {
                DO(fanlight_get_handle(&seen, fanlight_at(flags, me, 8), 8, &handle));
                DO(fanlight_wait(&handle));
            }
        }
        CHECK(me == 0 || private[0] == 1000 + me);
        barrier();
    }
    DO(fanlight_free(p));
    DO(fanlight_free(flags));
}

static void teams(void)
{
    int size = 0, unit = -1, t = -1;
    DO(fanlight_team_size(FANLIGHT_TEAM_ALL, &size));
    CHECK(size == units);
    // The odd ones and the even ones, in reverse; then each of them halved, and nested.
    fanlight_team parity, half;
    DO(fanlight_team_split(FANLIGHT_TEAM_ALL, me % 2, -me, &parity));
    DO(fanlight_team_size(parity, &size));
    DO(fanlight_team_unit(parity, &unit));
    CHECK(size == (units + 1 - me % 2) / 2);
    DO(fanlight_team_translate(parity, 0, FANLIGHT_TEAM_ALL, &t));
    CHECK(t % 2 == me % 2 && t >= units - 2);
    DO(fanlight_team_translate(FANLIGHT_TEAM_ALL, me, parity, &t));
    CHECK(t == unit);
    if (units > 1) {
        DO(fanlight_team_translate(FANLIGHT_TEAM_ALL, me % 2 ? 0 : 1, parity, &t));
        CHECK(t == -1);
    }
    DO(fanlight_team_split(parity, unit < (size + 1) / 2 ? 0 : -1, 0, &half));
    CHECK((half == FANLIGHT_TEAM_NULL) == (unit >= (size + 1) / 2));
    if (half != FANLIGHT_TEAM_NULL) {
        CHECK(half != parity && half != FANLIGHT_TEAM_ALL);
        fanlight_pointer p;
        DO(fanlight_allocate(half, 8, 0, &p));
        int n, u;
        DO(fanlight_team_size(half, &n));
        DO(fanlight_team_unit(half, &u));
        int64_t v = me, got = -1;
        DO(fanlight_put(fanlight_at(p, (u + 1) % n, 0), &v, 8));
        DO(fanlight_team_barrier(half));
        DO(fanlight_get(&got, fanlight_at(p, u, 0), 8));
        DO(fanlight_team_translate(half, (u + n - 1) % n, FANLIGHT_TEAM_ALL, &t));
        CHECK(got == t);
        WRONG(FANLIGHT_ERR_UNIT, fanlight_get(&got, fanlight_at(p, n, 0), 8));
        fanlight_team of = -1;
        DO(fanlight_segment_team(p, &of));
        CHECK(of == half);
        fanlight_team copy = half;
        WRONG(FANLIGHT_ERR_STATE, fanlight_team_free(&copy));
        DO(fanlight_team_barrier(half));
        DO(fanlight_free(p));
        copy = half;
        DO(fanlight_team_free(&half));
        CHECK(half == FANLIGHT_TEAM_NULL);
        WRONG(FANLIGHT_ERR_TEAM, fanlight_team_barrier(copy));
    }
    DO(fanlight_team_free(&parity));
    // From a group: the last and the first.
    int group[2] = {units - 1, 0}, count = units > 1 ? 2 : 1;
    fanlight_team ends;
    DO(fanlight_team_create(FANLIGHT_TEAM_ALL, group, count, &ends));
    CHECK((ends != FANLIGHT_TEAM_NULL) == (me == 0 || me == units - 1));
    if (ends != FANLIGHT_TEAM_NULL) {
        DO(fanlight_team_translate(ends, 0, FANLIGHT_TEAM_ALL, &t));
        CHECK(t == units - 1);
        DO(fanlight_team_free(&ends));
    }
    group[0] = units;
    WRONG(FANLIGHT_ERR_UNIT, fanlight_team_create(FANLIGHT_TEAM_ALL, group, 1, &ends));
    group[0] = group[1] = 0;
    WRONG(FANLIGHT_ERR_UNIT, fanlight_team_create(FANLIGHT_TEAM_ALL, group, 2, &ends));
    // One unit's mistake is everybody's error, and nobody hangs.
    group[0] = me == 0 ? -1 : 0;
    CHECK(fanlight_team_create(FANLIGHT_TEAM_ALL, group, 1, &ends) != FANLIGHT_OK);
    fanlight_team all = FANLIGHT_TEAM_ALL;
    WRONG(FANLIGHT_ERR_TEAM, fanlight_team_free(&all));
    fanlight_locality locality;
    for (int u = 0; u < units; u++) {
        DO(fanlight_unit_locality(FANLIGHT_TEAM_ALL, u, &locality));
        CHECK(locality.node >= 0 && (locality.direct || u != me));
        fanlight_pointer at = {u, 0, 0};
        CHECK((fanlight_ptr(at) != NULL) == locality.direct);
    }
}

static void notifications(void)
{
    fanlight_pointer p;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 8 * (size_t)units, 0, &p));
    int64_t *own = fanlight_ptr(fanlight_at(p, me, 0));
    int right = (me + 1) % units, left = (me + units - 1) % units, there = -1;
    DO(fanlight_test_notify(FANLIGHT_TEAM_ALL, left, 3, &there));
    CHECK(!there);
    barrier();
    for (int round = 0; round < 200; round++) {
        int64_t v = value(me, right, round);
        DO(fanlight_put_notify(fanlight_at(p, right, 8 * (uint64_t)me), &v, 8, 3));
        DO(fanlight_wait_notify(FANLIGHT_TEAM_ALL, left, 3));
        CHECK(own[left] == value(left, me, round));
        DO(fanlight_notify(FANLIGHT_TEAM_ALL, left, 15));  // it may put the next one
        DO(fanlight_wait_notify(FANLIGHT_TEAM_ALL, right, 15));
    }
    // They are counted: three let three waits return.
    barrier();
    for (int i = 0; i < 3; i++)
        DO(fanlight_notify(FANLIGHT_TEAM_ALL, right, 0));
    DO(fanlight_wait_notify(FANLIGHT_TEAM_ALL, left, 0));
    DO(fanlight_wait_notify(FANLIGHT_TEAM_ALL, left, 0));
    for (there = 0; !there;)
        DO(fanlight_test_notify(FANLIGHT_TEAM_ALL, left, 0, &there));
    DO(fanlight_test_notify(FANLIGHT_TEAM_ALL, left, 0, &there));
    CHECK(!there);
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_notify(FANLIGHT_TEAM_ALL, right, 16));
    WRONG(FANLIGHT_ERR_UNIT, fanlight_wait_notify(FANLIGHT_TEAM_ALL, units, 0));
    barrier();
    DO(fanlight_free(p));
}

// A ticket is drawn by compare and swap, of each width.
#define TICKETS(T, type, times)                                                          \
    do {                                                                                 \
        memset(own, 0, 512);                                                             \
        barrier();                                                                       \
        int mine = 0, sum = 0;                                                           \
        for (T seen = 0; seen < (T)((times) * units);) {                                 \
            T next = (T)(seen + 1), before = 0;                                          \
            DO(fanlight_compare_and_swap(fanlight_add(p, 16), &next, &seen, &before, type)); \
            mine += before == seen;                                                      \
            seen = before == seen ? next : before;                                       \
        }                                                                                \
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);                 \
        CHECK(sum == (times) * units);                                                   \
    } while (0)

#define ADD_UP(T, type, times)                                                                       \
    do {                                                                                             \
        T one = 1, before, sum;                                                                      \
        memset(own, 0, 512);                                                                         \
        barrier();                                                                                   \
        for (int i = 0; i < (times); i++) {                                                          \
            T pair[2] = {1, 2};                                                                      \
            DO(fanlight_accumulate(fanlight_at(p, i % units, 0), pair, 2, type, FANLIGHT_SUM));      \
            DO(fanlight_fetch_and_op(fanlight_at(p, i % units, 0), &one, &before, type, FANLIGHT_SUM)); \
        }                                                                                            \
        DO(fanlight_flush_all(p));                                                                   \
        barrier();                                                                                   \
        long first = 0, second = 0;                                                                  \
        for (int u = 0; u < units; u++) {                                                            \
            DO(fanlight_fetch_and_op(fanlight_at(p, u, 0), NULL, &sum, type, FANLIGHT_NO_OP));       \
            first += (long)sum;                                                                      \
            DO(fanlight_get(&sum, fanlight_at(p, u, sizeof sum), sizeof sum));                       \
            second += (long)sum;                                                                     \
        }                                                                                            \
        CHECK(first == 2L * (times) * units && second == 2L * (times) * units);                      \
        barrier();                                                                                   \
    } while (0)

static void atomics(void)
{
    fanlight_pointer p;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 512, 0, &p));
    char *own = fanlight_ptr(fanlight_at(p, me, 0));
    ADD_UP(int8_t, FANLIGHT_INT8, 7);
    ADD_UP(uint16_t, FANLIGHT_UINT16, 100);
    ADD_UP(int32_t, FANLIGHT_INT32, 500);
    ADD_UP(int64_t, FANLIGHT_INT64, 500);
    ADD_UP(float, FANLIGHT_FLOAT, 100);
    ADD_UP(double, FANLIGHT_DOUBLE, 500);
    ADD_UP(long double, FANLIGHT_LONG_DOUBLE, 50);

    // Each operator once, by unit 0 alone.
    struct { fanlight_operator op; int64_t a, b, result; } cases[] = {
        {FANLIGHT_MIN, 5, -3, -3}, {FANLIGHT_MAX, 5, -3, 5}, {FANLIGHT_SUM, 5, -3, 2}, {FANLIGHT_PROD, 5, -3, -15},
        {FANLIGHT_BAND, 12, 10, 8}, {FANLIGHT_BOR, 12, 10, 14}, {FANLIGHT_BXOR, 12, 10, 6},
        {FANLIGHT_LAND, 4, 0, 0}, {FANLIGHT_LOR, 4, 0, 1}, {FANLIGHT_LXOR, 4, 8, 0},
        {FANLIGHT_REPLACE, 5, 9, 9}, {FANLIGHT_NO_OP, 5, 9, 5}};
    fanlight_pointer last = fanlight_at(p, units - 1, 64);
    for (size_t i = 0; me == 0 && i < sizeof cases / sizeof *cases; i++) {
        int64_t before = 0, after = 0;
        DO(fanlight_fetch_and_op(last, &cases[i].a, &before, FANLIGHT_INT64, FANLIGHT_REPLACE));
        DO(fanlight_fetch_and_op(last, &cases[i].b, &before, FANLIGHT_INT64, cases[i].op));
        DO(fanlight_fetch_and_op(last, NULL, &after, FANLIGHT_INT64, FANLIGHT_NO_OP));
        if (before != cases[i].a || after != cases[i].result)
            printf("operator %d: %ld before, %ld after\n", (int)cases[i].op, (long)before, (long)after);
        CHECK(before == cases[i].a && after == cases[i].result);
    }
    // Unsigned numbers and NaN; integers wrap around.
    uint16_t big = 40000, small = 3, was, is;
    float nan = 0.0f / 0.0f, one = 1, f;
    if (me == 0) {
        DO(fanlight_fetch_and_op(last, &big, &was, FANLIGHT_UINT16, FANLIGHT_REPLACE));
        DO(fanlight_fetch_and_op(last, &small, &was, FANLIGHT_UINT16, FANLIGHT_MAX));
        DO(fanlight_fetch_and_op(last, &big, &was, FANLIGHT_UINT16, FANLIGHT_PROD));
        DO(fanlight_fetch_and_op(last, NULL, &is, FANLIGHT_UINT16, FANLIGHT_NO_OP));
        CHECK(was == 40000 && is == (uint16_t)(40000u * 40000u));
        DO(fanlight_fetch_and_op(last, &nan, &f, FANLIGHT_FLOAT, FANLIGHT_REPLACE));
        DO(fanlight_fetch_and_op(last, &one, &f, FANLIGHT_FLOAT, FANLIGHT_SUM));
        CHECK(f != f);
    }
    barrier();
    TICKETS(int8_t, FANLIGHT_INT8, 5);
    TICKETS(uint16_t, FANLIGHT_UINT16, 20);
    TICKETS(uint32_t, FANLIGHT_UINT32, 20);
    TICKETS(int64_t, FANLIGHT_INT64, 50);

    int64_t v = 1;
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_accumulate(fanlight_add(p, 4), &v, 1, FANLIGHT_INT64, FANLIGHT_SUM));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_accumulate(p, &v, 1, FANLIGHT_DOUBLE, FANLIGHT_BAND));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_compare_and_swap(p, &v, &v, &v, FANLIGHT_DOUBLE));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_accumulate(p, &v, 1, (fanlight_type)77, FANLIGHT_SUM));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_accumulate(p, &v, 1, FANLIGHT_INT64, (fanlight_operator)77));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_accumulate(fanlight_add(p, 512), &v, 1, FANLIGHT_INT64, FANLIGHT_SUM));
    DO(fanlight_accumulate(last, &v, 1, FANLIGHT_INT64, FANLIGHT_NO_OP));
    DO(fanlight_flush(last));
    barrier();
    DO(fanlight_free(p));
}

static void locks(void)
{
    fanlight_lock lock;
    fanlight_pointer p;
    DO(fanlight_lock_create(FANLIGHT_TEAM_ALL, &lock));
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 16, 0, &p));
    memset(fanlight_ptr(fanlight_at(p, me, 0)), 0, 16);
    barrier();
    // A counter that is not atomic, and a word that says who is inside.
    int times = 100, tries = 0;
    for (int i = 0; i < times; i++) {
        int got = 0;
        if (i % 4 == 3) {
            for (; !got; tries++)
                DO(fanlight_lock_try(lock, &got));
        } else {
            DO(fanlight_lock_acquire(lock));
        }
        int64_t inside = 0, counter = 0, v = me + 1;
        DO(fanlight_get(&inside, fanlight_at(p, 0, 8), 8));
        CHECK(inside == 0);
        DO(fanlight_put(fanlight_at(p, 0, 8), &v, 8));
        DO(fanlight_get(&counter, p, 8));
        counter++;
        DO(fanlight_put(p, &counter, 8));
        v = 0;
        DO(fanlight_put(fanlight_at(p, 0, 8), &v, 8));
        DO(fanlight_lock_release(lock));
    }
    barrier();
    int64_t counter = 0;
    DO(fanlight_get(&counter, p, 8));
    CHECK(counter == (int64_t)times * units);
    WRONG(FANLIGHT_ERR_STATE, fanlight_lock_release(lock));
    barrier();
    if (me == 0) {
        int got = 1;
        DO(fanlight_lock_acquire(lock));
        WRONG(FANLIGHT_ERR_STATE, fanlight_lock_acquire(lock));
        WRONG(FANLIGHT_ERR_STATE, fanlight_lock_try(lock, &got));
    }
    // One unit holds it: an error for all.
    WRONG(me == 0 ? FANLIGHT_ERR_STATE : FANLIGHT_ERR_ARGUMENT, fanlight_lock_free(&lock));
    if (me == 0)
        DO(fanlight_lock_release(lock));
    barrier();
    fanlight_lock gone = lock;
    DO(fanlight_lock_free(&lock));
    CHECK(lock == FANLIGHT_LOCK_NULL);
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_lock_acquire(lock));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_lock_acquire(gone));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_lock_release(gone));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_lock_free(&gone));
    DO(fanlight_free(p));
}

static int64_t sum_of(int index, int round)
{
    int64_t sum = 0;
    for (int u = 0; u < units; u++)
        sum += value(u, index, round);
    return sum;
}

// Every collective, by the catalogue or by MPI; lengths within a line and over several.
static void collectives(void)
{
    enum { most = 1000 };
    fanlight_pointer from, to;
    size_t room = (size_t)units * most * 8;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, room, 0, &from));
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, room, 0, &to));
    int64_t *in = fanlight_ptr(fanlight_at(from, me, 0)), *out = fanlight_ptr(fanlight_at(to, me, 0));
    static const int lengths[] = {0, 1, 17, most};
    for (int round = 0; round < 4 * units; round++) {
        int n = lengths[round % 4], root = round / 4;
        size_t bytes = (size_t)n * 8;
        for (int i = 0; i < units * n; i++)
            in[i] = value(me, i, round);
        memset(out, 0xee, room);
        DO(fanlight_global_alltoall(to, from, bytes));
        for (int i = 0; i < units * n; i++)
            CHECK(out[i] == value(i / n, me * n + i % n, round));
        memset(out, 0xee, room);
        DO(fanlight_global_allgather(to, from, bytes));
        for (int i = 0; i < units * n; i++)
            CHECK(out[i] == value(i / n, i % n, round));
        memset(out, 0xee, room);
        memcpy(out + me * n, in, bytes);
        DO(fanlight_global_allgather(to, fanlight_add(to, (int64_t)bytes * me), bytes));
        for (int i = 0; i < units * n; i++)
            CHECK(out[i] == value(i / n, i % n, round));
        DO(fanlight_global_allreduce(to, from, (size_t)n, FANLIGHT_INT64, FANLIGHT_SUM));
        for (int i = 0; i < n; i++)
            CHECK(out[i] == sum_of(i, round) && in[i] == value(me, i, round));
        memset(out, 0xee, bytes);
        DO(fanlight_global_reduce(to, from, (size_t)n, FANLIGHT_INT64, FANLIGHT_SUM, root));
        for (int i = 0; i < n; i++)
            CHECK(out[i] == (me == root ? sum_of(i, round) : -0x1111111111111112) && in[i] == value(me, i, round));
        DO(fanlight_global_allreduce(from, from, (size_t)n, FANLIGHT_INT64, round % 2 ? FANLIGHT_MIN : FANLIGHT_MAX));
        for (int i = 0; i < n; i++)
            CHECK(in[i] == value(round % 2 ? 0 : units - 1, i, round));
        for (int i = 0; i < n; i++)
            out[i] = value(me, -i, round);
        DO(fanlight_global_broadcast(to, bytes, root));
        for (int i = 0; i < n; i++)
            CHECK(out[i] == value(root, -i, round));
    }
    // At an offset, of another type.
    float *single = (float *)in + 3;
    for (int i = 0; i < 40; i++)
        single[i] = (float)(me + i);
    DO(fanlight_global_allreduce(fanlight_add(to, 20), fanlight_add(from, 12), 40, FANLIGHT_FLOAT, FANLIGHT_SUM));
    for (int i = 0; i < 40; i++)
        CHECK(((float *)out)[5 + i] == (float)(units * i + units * (units - 1) / 2));
    long double *wide = (long double *)in;
    for (int i = 0; i < 9; i++)
        wide[i] = me + i;
    DO(fanlight_global_reduce(from, from, 9, FANLIGHT_LONG_DOUBLE, FANLIGHT_SUM, units - 1));
    for (int i = 0; i < 9; i++)
        CHECK(wide[i] == (me == units - 1 ? units * i + units * (units - 1) / 2 : me + i));
    int8_t *truth = (int8_t *)in;
    for (int i = 0; i < 3; i++)
        truth[i] = i > 0 || me > 0;
    DO(fanlight_global_allreduce(to, from, 3, FANLIGHT_INT8, FANLIGHT_LAND));
    CHECK(((int8_t *)out)[0] == 0 && ((int8_t *)out)[1] == 1 && ((int8_t *)out)[2] == 1);
    WRONG(FANLIGHT_ERR_UNIT, fanlight_global_reduce(to, from, 1, FANLIGHT_INT8, FANLIGHT_SUM, -1));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_global_reduce(fanlight_add(to, 8), to, 2, FANLIGHT_INT64, FANLIGHT_SUM, 0));
    WRONG(FANLIGHT_ERR_UNIT, fanlight_global_broadcast(to, 8, units));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_global_broadcast(to, room + 1, 0));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_global_alltoall(to, from, room / (size_t)units + 1));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_global_alltoall(to, to, 8));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_global_allreduce(to, from, 1, FANLIGHT_DOUBLE, FANLIGHT_BXOR));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_global_allreduce(to, from, 1, FANLIGHT_DOUBLE, FANLIGHT_REPLACE));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_global_allreduce(fanlight_add(to, 4), from, 1, FANLIGHT_DOUBLE, FANLIGHT_SUM));
    // Units that do not call the same: found where they share memory, in a team of its own, since
    // it serves no more afterwards.
    if (units == 2 && fanlight_ptr(fanlight_at(from, !me, 0))) {
        fanlight_team own;
        fanlight_pointer p;
        DO(fanlight_team_split(FANLIGHT_TEAM_ALL, 0, me, &own));
        DO(fanlight_allocate(own, 800, 0, &p));
        WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_global_broadcast(p, 700, !me));
        DO(fanlight_free(p));
        DO(fanlight_team_free(&own));
    }
    barrier();
    DO(fanlight_free(from));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_global_allgather(to, from, 8));
    barrier();
    DO(fanlight_free(to));
}

// Longer than what is mapped for an algorithm's own use, so that some run in pieces.
static void long_collectives(void)
{
    enum { words = 90000 };
    fanlight_pointer from, to;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, words * 8, 0, &from));
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, words * 8, 0, &to));
    int64_t *in = fanlight_ptr(fanlight_at(from, me, 0)), *out = fanlight_ptr(fanlight_at(to, me, 0));
    for (int i = 0; i < words; i++)
        in[i] = value(me, i, 0);
    DO(fanlight_global_allreduce(to, from, words, FANLIGHT_INT64, FANLIGHT_SUM));
    for (int i = 0; i < words; i++)
        CHECK(out[i] == sum_of(i, 0));
    memset(out, 0, words * 8);
    DO(fanlight_global_reduce(to, from, words, FANLIGHT_INT64, FANLIGHT_SUM, units - 1));
    for (int i = 0; i < words; i++)
        CHECK(out[i] == (me == units - 1 ? sum_of(i, 0) : 0));
    DO(fanlight_global_broadcast(to, words * 8, units - 1));
    for (int i = 0; i < words; i++)
        CHECK(out[i] == sum_of(i, 0));
    int n = words / units;
    DO(fanlight_global_alltoall(to, from, (size_t)n * 8));
    for (int i = 0; i < units * n; i++)
        CHECK(out[i] == value(i / n, me * n + i % n, 0));
    DO(fanlight_global_allgather(to, from, (size_t)n * 8));
    for (int i = 0; i < units * n; i++)
        CHECK(out[i] == value(i / n, i % n, 0));
    DO(fanlight_free(from));
    DO(fanlight_free(to));
}

// A team of each team before, freed in another order than made, all alive at a time.
static void many_teams(void)
{
    enum { many = 12 };
    fanlight_team team[many], gone;
    fanlight_pointer p[many];
    for (int i = 0; i < many; i++) {
        fanlight_team parent = i % 3 ? team[i - 1] : FANLIGHT_TEAM_ALL;
        DO(fanlight_team_split(parent, 0, i % 2 ? -me : me, &team[i]));
        DO(fanlight_allocate(team[i], 8, 0, &p[i]));
        int unit = -1;
        DO(fanlight_team_unit(team[i], &unit));
        CHECK(unit == (i % 2 ? units - 1 - me : me));
        *(int64_t *)fanlight_ptr(fanlight_at(p[i], unit, 0)) = 1000 * i + me;
    }
    barrier();
    for (int i = 0; i < many; i++) {
        int64_t got = 0;
        DO(fanlight_get(&got, fanlight_at(p[i], 0, 0), 8));
        CHECK(got == 1000 * i + (i % 2 ? units - 1 : 0));
    }
    barrier();
    for (int k = 0; k < many; k++) {
        int i = 5 * k % many;
        WRONG(FANLIGHT_ERR_STATE, fanlight_team_free(&team[i]));
        DO(fanlight_free(p[i]));
        gone = team[i];
        DO(fanlight_team_free(&team[i]));
        WRONG(FANLIGHT_ERR_TEAM, fanlight_team_free(&gone));
    }
}

// Two threads of each unit, each with a team of its own, and one lock.
typedef struct Thread { fanlight_team team; fanlight_lock lock; fanlight_pointer counter; } Thread;

static void *thread_of_team(void *argument)
{
    const Thread *t = argument;
    int unit, size;
    DO(fanlight_team_unit(t->team, &unit));
    DO(fanlight_team_size(t->team, &size));
    for (int i = 0; i < 8; i++) {
        fanlight_pointer p, own;
        int64_t v = 100 * i + unit, got = -1, n;
        DO(fanlight_allocate(t->team, 8, 0, &p));
        DO(fanlight_put(fanlight_at(p, (unit + 1) % size, 0), &v, 8));
        DO(fanlight_local_allocate(64, &own));
        DO(fanlight_lock_acquire(t->lock));
        DO(fanlight_get(&n, t->counter, 8));
        n++;
        DO(fanlight_put(t->counter, &n, 8));
        DO(fanlight_lock_release(t->lock));
        DO(fanlight_team_barrier(t->team));
        DO(fanlight_get(&got, fanlight_at(p, unit, 0), 8));
        CHECK(got == 100 * i + (unit + size - 1) % size);
        DO(fanlight_accumulate(fanlight_add(t->counter, 8), &(int64_t){1}, 1, FANLIGHT_INT64, FANLIGHT_SUM));
        DO(fanlight_flush(t->counter));
        DO(fanlight_local_free(own));
        DO(fanlight_free(p));
    }
    return NULL;
}

static void threads(void)
{
    Thread mine[2];
    pthread_t other;
    int level = 0;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE || units > 3)  // more would take turns on two cores
        return;
    DO(fanlight_lock_create(FANLIGHT_TEAM_ALL, &mine[0].lock));
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 16, 0, &mine[0].counter));
    memset(fanlight_ptr(fanlight_at(mine[0].counter, me, 0)), 0, 16);
    mine[1] = mine[0];
    for (int i = 0; i < 2; i++)
        DO(fanlight_team_split(FANLIGHT_TEAM_ALL, 0, i ? -me : me, &mine[i].team));
    barrier();
    CHECK(pthread_create(&other, NULL, thread_of_team, &mine[1]) == 0);
    thread_of_team(&mine[0]);
    CHECK(pthread_join(other, NULL) == 0);
    barrier();
    int64_t n[2];
    DO(fanlight_get(n, mine[0].counter, 16));
    CHECK(n[0] == 16 * units && n[1] == 16 * units);
    for (int i = 0; i < 2; i++)
        DO(fanlight_team_free(&mine[i].team));
    DO(fanlight_free(mine[0].counter));
    DO(fanlight_lock_free(&mine[0].lock));
}

static void misuse(void)
{
    fanlight_pointer p, null = FANLIGHT_POINTER_NULL_INIT;
    int64_t v = 0;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 64, 0, &p));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_put(fanlight_add(p, 57), &v, 8));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_get(&v, fanlight_add(p, -8), 8));
    WRONG(FANLIGHT_ERR_RANGE, fanlight_get(&v, p, SIZE_MAX));
    WRONG(FANLIGHT_ERR_UNIT, fanlight_put(fanlight_at(p, units, 0), &v, 8));
    WRONG(FANLIGHT_ERR_UNIT, fanlight_put(fanlight_at(p, -1, 0), &v, 8));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_put(null, &v, 8));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_put(p, NULL, 8));
    CHECK(fanlight_ptr(null) == NULL && fanlight_ptr(fanlight_add(p, 65)) == NULL);
    fanlight_handle h, stale;
    DO(fanlight_get_handle(&v, fanlight_at(p, units - 1, 0), 8, &h));
    stale = h;
    DO(fanlight_wait(&h));
    DO(fanlight_wait(&h));  // null: complete
    if (stale != FANLIGHT_HANDLE_NULL) {  // as it is where the get was complete at once
        WRONG(FANLIGHT_ERR_HANDLE, fanlight_wait(&stale));
        WRONG(FANLIGHT_ERR_HANDLE, fanlight_handle_free(&stale));
    }
    DO(fanlight_get_handle(&v, fanlight_at(p, units - 1, 0), 8, &h));
    fanlight_handle twice[2] = {h, h};
    DO(fanlight_waitall(twice, 2));
    CHECK(twice[0] == FANLIGHT_HANDLE_NULL && twice[1] == FANLIGHT_HANDLE_NULL);
    stale = 12345678;
    WRONG(FANLIGHT_ERR_HANDLE, fanlight_wait(&stale));
    DO(fanlight_put_handle(fanlight_at(p, units - 1, 0), &v, 8, &h));
    DO(fanlight_handle_free(&h));
    DO(fanlight_flush_all(p));
    // Different sizes, and one unit's wrong alignment: an error for all.
    if (units > 1)
        WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_allocate(FANLIGHT_TEAM_ALL, 64 + (size_t)me, 0, &null));
    WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_allocate(FANLIGHT_TEAM_ALL, 64, me == 0 ? 3 : 0, &null));
    if (units > 1)
        WRONG(FANLIGHT_ERR_ARGUMENT, fanlight_allocate(FANLIGHT_TEAM_ALL, 64, me == 0 ? 4096 : 0, &null));
    CHECK(fanlight_allocate(FANLIGHT_TEAM_ALL, me == 0 ? SIZE_MAX : 64, 0, &null) != FANLIGHT_OK);
    CHECK(fanlight_register(FANLIGHT_TEAM_ALL, &v, me == 0 ? SIZE_MAX : 8, &null) != FANLIGHT_OK);
    WRONG(FANLIGHT_ERR_TEAM, fanlight_allocate(77, 64, 0, &null));
    barrier();
    DO(fanlight_free(p));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_free(p));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_get(&v, p, 8));
    // Its number does not come to mean what is allocated next.
    fanlight_pointer q;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 64, 0, &q));
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_get(&v, p, 8));
    DO(fanlight_free(q));
    fanlight_pointer own = {0, 0, 0};
    WRONG(FANLIGHT_ERR_SEGMENT, fanlight_free(own));
}

static long resident_pages(void)
{
    long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld %ld", &all, &resident) == 2);
    fclose(f);
    return resident;
}

// 2000 allocations and frees; memory after the first 200 and at the end.
static void many_allocations(void)
{
    long early = 0;
    for (int i = 0; i < 2000; i++) {
        fanlight_pointer p;
        DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 4096 + 64 * (size_t)(i % 7), 0, &p));
        memset(fanlight_ptr(fanlight_at(p, me, 0)), i, 4096);
        DO(fanlight_free(p));
        if (i == 200)
            early = resident_pages();
    }
    long grown = (resident_pages() - early) * sysconf(_SC_PAGESIZE) / 1024;
    printf("unit %d: %ld KiB more after 1800 allocations\n", me, grown);
    CHECK(grown < 1024);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } parts[] = {
        {"pointers", pointers}, {"put_and_get", put_and_get}, {"strided_and_indexed", strided_and_indexed},
        {"local_and_registered", local_and_registered}, {"teams", teams}, {"notifications", notifications},
        {"atomics", atomics}, {"locks", locks}, {"collectives", collectives},
        {"long_collectives", long_collectives}, {"many_teams", many_teams}, {"threads", threads},
        {"misuse", misuse}, {"many_allocations", many_allocations}};
    int64_t v = 0;
    fanlight_pointer nowhere = {0, 0, 0};
    WRONG(FANLIGHT_ERR_STATE, fanlight_put(nowhere, &v, 8));
    CHECK(!fanlight_initialized());
    DO(fanlight_init());
    DO(fanlight_init());
    DO(fanlight_team_unit(FANLIGHT_TEAM_ALL, &me));
    DO(fanlight_team_size(FANLIGHT_TEAM_ALL, &units));
    check_unit = me;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int wanted = argc == 1 && parts[i].run != many_allocations;
        for (int a = 1; a < argc; a++)
            wanted |= strcmp(argv[a], parts[i].name) == 0;
        if (wanted)
            parts[i].run();
    }
    // What is left is freed by exit.
    fanlight_pointer left;
    DO(fanlight_allocate(FANLIGHT_TEAM_ALL, 8, 0, &left));
    DO(fanlight_exit());
    CHECK(fanlight_initialized());
    int last = me == 0;
    DO(fanlight_exit());
    WRONG(FANLIGHT_ERR_STATE, fanlight_exit());
    if (last)
        printf("ok\n");
    return 0;
}

// Global memory inside a node, two units: fanlight-bench-global-<mpi>.  8-byte put and get
// beside a plain store and load, and beside MPI's on its windows; a notified ping-pong beside
// the round trip of a cache line; a broadcast into global memory beside MPI's; a long put beside memcpy.  Medians of rounds in
// which all that is compared takes turns; each line that has something to reach says what.
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fanlight/fanlight.h"
#include "../statistics.h"

enum { rounds = 31, calls = 2000 };

static int me;
static fanlight_pointer there;
static volatile int64_t *direct;
static volatile int64_t flag = 1;  // what a plain program would look at before it stores
static MPI_Win ordinary, shared;
static int64_t word;

static void plain_store(void) { if (flag) *direct = word; }
static void plain_load(void) { if (flag) word = *direct; }
static void put(void) { fanlight_put(there, &word, 8); }
static void get(void) { fanlight_get(&word, there, 8); }
static void mpi_put(MPI_Win win) { MPI_Put(&word, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win); MPI_Win_flush(1, win); }
static void mpi_get(MPI_Win win) { MPI_Get(&word, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win); MPI_Win_flush(1, win); }
// The library's function itself, as a program without the header's short way calls it.
static fanlight_code (*volatile called_put)(fanlight_pointer, const void *, size_t) = fanlight_put;
static fanlight_code (*volatile called_get)(void *, fanlight_pointer, size_t) = fanlight_get;
static void put_called(void) { called_put(there, &word, 8); }
static void get_called(void) { called_get(&word, there, 8); }
static void put_ordinary(void) { mpi_put(ordinary); }
static void get_ordinary(void) { mpi_get(ordinary); }
static void put_shared(void) { mpi_put(shared); }
static void get_shared(void) { mpi_get(shared); }

static _Atomic int64_t *mine, *other;

static void line_round(void)
{
    static int64_t number;
    number++;
    if (me == 0)
        atomic_store_explicit(other, number, memory_order_release);
    while (atomic_load_explicit(mine, memory_order_acquire) != number)
        ;
    if (me == 1)
        atomic_store_explicit(other, number, memory_order_release);
}

static void notify_round(void)
{
    word++;
    if (me == 0)
        fanlight_put_notify(there, &word, 8, 0);
    fanlight_wait_notify(FANLIGHT_TEAM_ALL, !me, 0);
    if (me == 1)
        fanlight_put_notify(there, &word, 8, 0);
}

typedef struct Way {
    const char *name;
    void (*call)(void);
    int both;            // both units call; else unit 0, and the other one, in a barrier, lets MPI progress
    const char *beside;  // the way that it is compared with
    double ratio;        // to that one, to reach: at most this many times as long, or, negative, at least
} Way;

static const Way ways[] = {
    {"plain store", plain_store, 0, NULL, 0},
    {"fanlight_put", put, 0, "plain store", 1.5},
    {"fanlight_put, by call", put_called, 0, "plain store", 0},
    {"MPI_Put, shared window", put_shared, 0, "fanlight_put", -1},
    {"MPI_Put, ordinary window", put_ordinary, 0, "fanlight_put", -5},
    {"plain load", plain_load, 0, NULL, 0},
    {"fanlight_get", get, 0, "plain load", 1.5},
    {"fanlight_get, by call", get_called, 0, "plain load", 0},
    {"MPI_Get, shared window", get_shared, 0, "fanlight_get", -1},
    {"MPI_Get, ordinary window", get_ordinary, 0, "fanlight_get", -5},
    {"cache line, round trip", line_round, 1, NULL, 0},
    {"put_notify, round trip", notify_round, 1, "cache line, round trip", 1.5},
};
enum { count = sizeof ways / sizeof *ways };

static void say(const char *name, double seconds, const char *beside, double ratio, double wanted)
{
    printf("%-32s %10.1f ns", name, 1e9 * seconds);
    if (beside)
        printf("  %6.2f times %s", ratio, beside);
    if (wanted > 0)
        printf(" (at most %g): %s", wanted, ratio <= wanted ? "reached" : "not reached");
    if (wanted < 0)
        printf(" (at least %g): %s", -wanted, ratio >= -wanted ? "reached" : "not reached");
    printf("\n");
}

static void measure(void)
{
    static double sample[count][rounds];
    for (int r = 0; r < rounds; r++)
        for (int w = 0; w < count; w++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            for (int i = 0; (me == 0 || ways[w].both) && i < calls; i++)
                ways[w].call();
            sample[w][r] = (MPI_Wtime() - start) / calls;
        }
    double median[count];
    for (int w = 0; me == 0 && w < count; w++) {
        median[w] = statistics_of(sample[w], rounds).median;
        int beside = 0;
        while (ways[w].beside && strcmp(ways[beside].name, ways[w].beside) != 0)
            beside++;
        say(ways[w].name, median[w], ways[w].beside, median[w] / median[beside], ways[w].ratio);
    }
}

// A broadcast of 1 MiB into global memory beside MPI's from and to private memory, in turns.
enum { broadcast_bytes = 1 << 20, broadcasts = 101 };

static void broadcast(void)
{
    static char private[broadcast_bytes];
    double global_s[broadcasts], private_s[broadcasts];
    fanlight_pointer p;
    fanlight_allocate(FANLIGHT_TEAM_ALL, broadcast_bytes, 4096, &p);
    char *own = fanlight_ptr(fanlight_at(p, me, 0));
    for (int i = 0; i < broadcasts; i++) {
        memset(own, me == 0 ? i : -1, broadcast_bytes);  // new bytes, in the root's cache
        memset(private, me == 0 ? i : -1, broadcast_bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        fanlight_global_broadcast(p, broadcast_bytes, 0);
        global_s[i] = MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPI_Bcast(private, broadcast_bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        private_s[i] = MPI_Wtime() - start;
    }
    for (int k = 0; k < broadcast_bytes; k++)
        if (own[k] != (char)(broadcasts - 1) || private[k] != own[k]) {
            fprintf(stderr, "fanlight-bench-global: byte %d is wrong\n", k);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    if (me == 0) {
        double g = statistics_of(global_s, broadcasts).median, m = statistics_of(private_s, broadcasts).median;
        say("fanlight_global_broadcast, 1 MiB", g, NULL, 0, 0);
        say("MPI_Bcast, private, 1 MiB", m, "the global one", m / g, -1.2);
    }
    fanlight_free(p);
}

// A put of 64 KiB to where the other unit then reads it and says so, beside memcpy to there, in turns.
enum { face_bytes = 64 << 10, faces = 2001 };

static void face(void)
{
    static char local[face_bytes];
    double put_s[faces], copy_s[faces];
    fanlight_pointer p;
    fanlight_allocate(FANLIGHT_TEAM_ALL, face_bytes, 4096, &p);
    for (int i = 0; i < 2 * faces; i++) {
        double start = MPI_Wtime();
        if (me == 0) {
            if (i % 2)
                fanlight_put(fanlight_at(p, 1, 0), local, face_bytes);
            else
                memcpy(fanlight_ptr(fanlight_at(p, 1, 0)), local, face_bytes);
            fanlight_put_notify(there, &word, 8, 0);
        }
        fanlight_wait_notify(FANLIGHT_TEAM_ALL, !me, 0);
        if (me == 1) {
            memcpy(local, fanlight_ptr(fanlight_at(p, 1, 0)), face_bytes);
            fanlight_put_notify(there, &word, 8, 0);
        }
        (i % 2 ? put_s : copy_s)[i / 2] = MPI_Wtime() - start;
    }
    if (me == 0) {
        double c = statistics_of(copy_s, faces).median, m = statistics_of(put_s, faces).median;
        say("memcpy, notify, read, 64 KiB", c, NULL, 0, 0);
        say("fanlight_put, the same", m, "memcpy", m / c, 1.1);
    }
    fanlight_free(p);
}

int main(void)
{
    int units;
    if (fanlight_init() != FANLIGHT_OK) {
        fprintf(stderr, "%s\n", fanlight_message());
        return 1;
    }
    fanlight_team_unit(FANLIGHT_TEAM_ALL, &me);
    fanlight_team_size(FANLIGHT_TEAM_ALL, &units);
    if (units != 2) {
        fprintf(stderr, "fanlight-bench-global: start it with two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    fanlight_pointer p;
    fanlight_allocate(FANLIGHT_TEAM_ALL, 4096, 0, &p);
    there = fanlight_at(p, !me, 0);
    direct = fanlight_ptr(there);
    // Lines that nobody else uses.
    other = fanlight_ptr(fanlight_at(p, !me, 1024));
    mine = fanlight_ptr(fanlight_at(p, me, 1024));
    if (!direct) {
        fprintf(stderr, "fanlight-bench-global: the two ranks must be on one node\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    void *base;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &ordinary);
    MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared);
    MPI_Win_lock_all(0, ordinary);
    MPI_Win_lock_all(0, shared);
    measure();
    broadcast();
    face();
    MPI_Win_unlock_all(ordinary);
    MPI_Win_unlock_all(shared);
    MPI_Win_free(&ordinary);
    MPI_Win_free(&shared);
    return fanlight_exit() != FANLIGHT_OK;
}

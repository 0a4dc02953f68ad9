// Global memory inside a node, two units: fanlight-bench-global-<mpi>.  8-byte put and get
// beside a plain store and load, and beside MPI's on its windows; a notified ping-pong beside
// the round trip of a cache line.  Nanoseconds, the median of a number of rounds.
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

// Unit 0 calls; the other one is in a barrier, and so lets MPI progress.
static void rate(const char *name, void (*call)(void))
{
    double sample[rounds];
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        for (int r = 0; r < rounds; r++) {
            double start = MPI_Wtime();
            for (int i = 0; i < calls; i++)
                call();
            sample[r] = (MPI_Wtime() - start) / calls;
        }
        printf("%-28s %9.1f ns\n", name, 1e9 * statistics_of(sample, rounds).median);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static _Atomic int64_t *mine, *other;

static void line_round(int64_t number)
{
    if (me == 0)
        atomic_store_explicit(other, number, memory_order_release);
    while (atomic_load_explicit(mine, memory_order_acquire) != number)
        ;
    if (me == 1)
        atomic_store_explicit(other, number, memory_order_release);
}

static void notify_round(int64_t number)
{
    word = number;
    if (me == 0)
        fanlight_put_notify(there, &word, 8, 0);
    fanlight_wait_notify(FANLIGHT_TEAM_ALL, !me, 0);
    if (me == 1)
        fanlight_put_notify(there, &word, 8, 0);
}

static void ping_pong(const char *name, void (*round)(int64_t))
{
    double sample[rounds];
    int64_t number = 0;
    for (int r = 0; r < rounds; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < calls; i++)
            round(++number);
        sample[r] = (MPI_Wtime() - start) / calls;
    }
    if (me == 0)
        printf("%-28s %9.1f ns\n", name, 1e9 * statistics_of(sample, rounds).median);
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
        memset(me == 0 ? own : private, i, broadcast_bytes);  // new bytes, in the root's cache
        memset(me == 0 ? private : own, i, broadcast_bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        fanlight_global_broadcast(p, broadcast_bytes, 0);
        global_s[i] = MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPI_Bcast(private, broadcast_bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        private_s[i] = MPI_Wtime() - start;
    }
    if (me == 0) {
        double g = statistics_of(global_s, broadcasts).median, m = statistics_of(private_s, broadcasts).median;
        printf("%-28s %9.1f us\n%-28s %9.1f us, %.2f times as long\n", "fanlight_global_broadcast, 1 MiB", 1e6 * g,
               "MPI_Bcast, private, 1 MiB", 1e6 * m, m / g);
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
    void *base;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &ordinary);
    MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared);
    MPI_Win_lock_all(0, ordinary);
    MPI_Win_lock_all(0, shared);
    rate("plain store", plain_store);
    rate("fanlight_put", put);
    rate("fanlight_put, by call", put_called);
    rate("MPI_Put, shared window", put_shared);
    rate("MPI_Put, ordinary window", put_ordinary);
    rate("plain load", plain_load);
    rate("fanlight_get", get);
    rate("fanlight_get, by call", get_called);
    rate("MPI_Get, shared window", get_shared);
    rate("MPI_Get, ordinary window", get_ordinary);
    ping_pong("cache line, round trip", line_round);
    ping_pong("put_notify, round trip", notify_round);
    broadcast();
    MPI_Win_unlock_all(ordinary);
    MPI_Win_unlock_all(shared);
    MPI_Win_free(&ordinary);
    MPI_Win_free(&shared);
    return fanlight_exit() != FANLIGHT_OK;
}

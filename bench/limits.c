#include "limits.h"
#include "statistics.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BLOCKS = 15 };

// Flags only grow over all measurements; every rank counts alike.
typedef struct Pair {
    Shared *shared;
    Flag *mine, *theirs;
    bool first;        // rank 0; the other is rank 1
    uint64_t number;
    unsigned char *source, *target; // private, BENCH_DATA bytes each
    unsigned char *peer_source;     // the peer's, an address in its process
    pid_t peer;
} Pair;

typedef enum Spin { TIGHT, PAUSE, YIELD } Spin;

static inline void wait_for(Flag *flag, uint64_t value, Spin spin)
{
    for (unsigned polls = 1; flag_get(flag) < value; ++polls) {
        if (spin == YIELD || polls % 4096 == 0) // the peer may be off its core
            sched_yield();
        else if (spin == PAUSE)
            cpu_pause();
    }
}

static void round_trip(Pair *p, Spin spin)
{
    ++p->number;
    if (p->first) {
        flag_set(p->mine, p->number);
        wait_for(p->theirs, p->number, spin);
    } else {
        wait_for(p->theirs, p->number, spin);
        flag_set(p->mine, p->number);
    }
}

static void exchange(Pair *p, Spin spin)
{
    flag_set(p->mine, ++p->number);
    wait_for(p->theirs, p->number, spin);
}

static void round_trip_tight(Pair *p) { round_trip(p, TIGHT); }
static void round_trip_pause(Pair *p) { round_trip(p, PAUSE); }
static void round_trip_yield(Pair *p) { round_trip(p, YIELD); }
static void exchange_tight(Pair *p) { exchange(p, TIGHT); }
static void exchange_pause(Pair *p) { exchange(p, PAUSE); }

// Blocks of `calls`, timed by both, the longer of the two counted.
static Statistics measure_both(Pair *p, void (*action)(Pair *), int calls)
{
    double sample[BLOCKS];
    for (int b = 0; b < BLOCKS; ++b) {
        exchange_tight(p);
        double begin = now();
        for (int i = 0; i < calls; ++i)
            action(p);
        double mine = (now() - begin) / calls;
        memcpy(p->shared->data + (p->first ? 0 : BENCH_LINE), &mine, sizeof mine);
        exchange_tight(p);
        double theirs;
        memcpy(&theirs, p->shared->data + (p->first ? BENCH_LINE : 0), sizeof theirs);
        sample[b] = mine > theirs ? mine : theirs;
        exchange_tight(p); // the area is free again
    }
    return statistics_of(sample, BLOCKS);
}

static void report_latency(const Pair *p, FILE *out, const char *name, Statistics s)
{
    if (!p->first)
        return;
    fprintf(out, "{\"type\":\"limit\",\"limit\":\"%s\",\"time\":", name);
    statistics_write(out, s);
    fprintf(out, "}\n");
    fflush(out);
}

static void measure_latencies(Pair *p, FILE *out)
{
    const int calls = 10000;
    report_latency(p, out, "round_trip", measure_both(p, round_trip_tight, calls));
    report_latency(p, out, "round_trip_pause", measure_both(p, round_trip_pause, calls));
    report_latency(p, out, "exchange", measure_both(p, exchange_tight, calls));
    report_latency(p, out, "exchange_pause", measure_both(p, exchange_pause, calls));
}

// ---- bytes ----------------------------------------------------------------------------------

// Kept out of line, so that the compiler cannot see that nobody reads the copy.
__attribute__((noinline)) static void copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    __asm__ volatile("" ::: "memory");
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((noinline, target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
__attribute__((noinline))
#endif
static void add(double *restrict to, const double *restrict from, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        to[i] += from[i];
    __asm__ volatile("" ::: "memory");
}

static bool read_peer(Pair *p, size_t bytes)
{
    struct iovec to = {p->target, bytes}, from = {p->peer_source, bytes};
    return process_vm_readv(p->peer, &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

typedef enum Kind { COPY, ADD, READ } Kind;

static void move(Pair *p, Kind kind, size_t bytes)
{
    if (kind == COPY)
        copy(p->target, p->source, bytes);
    else if (kind == ADD)
        add((double *)p->target, (const double *)p->source, bytes / sizeof(double));
    else
        read_peer(p, bytes);
}

static double move_block(Pair *p, Kind kind, size_t bytes, int calls)
{
    double begin = now();
    for (int i = 0; i < calls; ++i)
        move(p, kind, bytes);
    return (now() - begin) / calls;
}

// Only rank 1 works if `alone`, else both at once.
static Statistics measure_moves(Pair *p, Kind kind, size_t bytes, bool alone)
{
    double sample[BLOCKS];
    int calls = (int)(1e-3 / (1e-6 + (double)bytes / 8e9)) + 1;
    bool works = !alone || !p->first;
    for (int b = -1; b < BLOCKS; ++b) { // block -1 warms up
        exchange_tight(p);
        double mine = works ? move_block(p, kind, bytes, calls) : 0;
        memcpy(p->shared->data + (p->first ? 0 : BENCH_LINE), &mine, sizeof mine);
        exchange_tight(p);
        double theirs;
        memcpy(&theirs, p->shared->data + (p->first ? BENCH_LINE : 0), sizeof theirs);
        if (b >= 0)
            sample[b] = mine > theirs ? mine : theirs;
        exchange_tight(p);
    }
    return statistics_of(sample, BLOCKS);
}

// Rank 1 copies out of the shared area what rank 0 has just written: the lines are in the other
// core's cache. Only the copy is timed.
static Statistics measure_fresh(Pair *p, size_t bytes)
{
    enum { COPIES = 9 };
    double sample[BLOCKS * COPIES];
    for (int i = -1; i < BLOCKS * COPIES; ++i) {
        if (p->first)
            memset(p->shared->data, i & 0xFF, bytes);
        exchange_tight(p);
        if (!p->first) {
            double begin = now();
            copy(p->target, p->shared->data, bytes);
            if (i >= 0)
                sample[i] = now() - begin;
        }
        exchange_tight(p);
    }
    Statistics s = {0};
    if (!p->first) {
        s = statistics_of(sample, BLOCKS * COPIES);
        memcpy(p->shared->data, &s, sizeof s);
    }
    exchange_tight(p);
    if (p->first)
        memcpy(&s, p->shared->data, sizeof s);
    exchange_tight(p);
    return s;
}

static void report_bytes(const Pair *p, FILE *out, const char *name, size_t bytes, Statistics s)
{
    if (!p->first)
        return;
    fprintf(out, "{\"type\":\"limit\",\"limit\":\"%s\",\"size\":%zu,\"time\":", name, bytes);
    statistics_write(out, s);
    fprintf(out, ",\"gigabytes_per_second\":%.3f}\n", 1e-9 * (double)bytes / s.median);
    fflush(out);
}

// Allowed, and really the peer's memory: a process number may mean another process elsewhere.
static bool may_read_peer(Pair *p, FILE *out)
{
    memset(p->target, 0, 4096);
    bool allowed = read_peer(p, 4096);
    int error = allowed ? 0 : errno;
    if (allowed && p->target[17] != (p->first ? 1 : 0) + 0x40)
        allowed = false;
    int verdict[2] = {allowed, error};
    memcpy(p->shared->data + (p->first ? 0 : BENCH_LINE), verdict, sizeof verdict);
    exchange_tight(p);
    int theirs[2];
    memcpy(theirs, p->shared->data + (p->first ? BENCH_LINE : 0), sizeof theirs);
    exchange_tight(p);
    if (allowed && theirs[0])
        return true;
    if (p->first) {
        int reason = error ? error : theirs[1];
        fprintf(out, "{\"type\":\"limit\",\"limit\":\"single_copy\",\"refused\":\"%s\"}\n",
                reason ? strerror(reason) : "reads another process");
        fflush(out);
    }
    return false;
}

static void measure_bytes(Pair *p, FILE *out)
{
    bool may_read = may_read_peer(p, out);
    for (size_t bytes = 1024; bytes <= BENCH_DATA; bytes *= 4) {
        report_bytes(p, out, "copy", bytes, measure_moves(p, COPY, bytes, true));
        report_bytes(p, out, "copy_both", bytes, measure_moves(p, COPY, bytes, false));
        report_bytes(p, out, "shared_copy", bytes, measure_fresh(p, bytes));
        report_bytes(p, out, "add_both", bytes, measure_moves(p, ADD, bytes, false));
        if (!may_read)
            continue;
        report_bytes(p, out, "single_copy", bytes, measure_moves(p, READ, bytes, true));
        report_bytes(p, out, "single_copy_both", bytes, measure_moves(p, READ, bytes, false));
    }
}

// ---- a switch from one process to another ---------------------------------------------------

// Both on one core; a round trip is two switches. The affinity is put back afterwards.
static void measure_switch(Pair *p, FILE *out)
{
    cpu_set_t before, one;
    sched_getaffinity(0, sizeof before, &before);
    int core = 0;
    while (!CPU_ISSET(core, &before))
        ++core;
    memcpy(p->shared->data + (p->first ? 0 : BENCH_LINE), &core, sizeof core);
    exchange_tight(p);
    memcpy(&core, p->shared->data, sizeof core); // rank 0's choice
    exchange_tight(p);
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    int pinned = sched_setaffinity(0, sizeof one, &one) == 0, theirs;
    memcpy(p->shared->data + (p->first ? 0 : BENCH_LINE), &pinned, sizeof pinned);
    round_trip_yield(p);
    round_trip_yield(p);
    memcpy(&theirs, p->shared->data + (p->first ? BENCH_LINE : 0), sizeof theirs);
    round_trip_yield(p);
    round_trip_yield(p);
    if (pinned && theirs) {
        double sample[BLOCKS];
        const int trips = 1000;
        for (int b = 0; b < BLOCKS; ++b) {
            round_trip_yield(p);
            double begin = now();
            for (int i = 0; i < trips; ++i)
                round_trip_yield(p);
            sample[b] = (now() - begin) / (2 * trips);
        }
        report_latency(p, out, "context_switch", statistics_of(sample, BLOCKS));
    }
    sched_setaffinity(0, sizeof before, &before);
}

// ---------------------------------------------------------------------------------------------

static void measure_pair(Pair *p, FILE *out)
{
    measure_latencies(p, out);
    measure_bytes(p, out);
    measure_switch(p, out);
}

// Of ranks 0 and 1.
static Pair pair_of(Shared *shared)
{
    Pair pair = {.shared = shared, .first = shared->rank == 0};
    pair.mine = &shared->signal[shared->rank];
    pair.theirs = &shared->signal[1 - shared->rank];
    // Both begin with the same number, whatever the flags were used for before.
    uint64_t start = (uint64_t)1 << 32;
    pair.number = flag_get(pair.mine);
    pair.number = pair.number > start ? pair.number : start;
    return pair;
}

void measure_round_trip(Shared *shared, FILE *out)
{
    if (!shared->mapped || shared->ranks < 2)
        return;
    shared_meet(shared, true);
    if (shared->rank < 2) {
        Pair pair = pair_of(shared);
        report_latency(&pair, out, "round_trip", measure_both(&pair, round_trip_tight, 2000));
    }
    shared_meet(shared, true);
}

void measure_limits(Shared *shared, FILE *out)
{
    if (shared->nodes > 1) {
        measure_link(shared, out);
        return;
    }
    if (!shared->mapped || shared->ranks < 2) {
        if (shared->rank == 0)
            fprintf(out, "{\"type\":\"note\",\"note\":\"no limits: they need two ranks on one node "
                         "and room in /dev/shm\"}\n");
        return;
    }
    Pair pair = {0};
    struct {
        long process;
        void *source;
    } contact[2] = {{0}};
    if (shared->rank < 2) {
        pair = pair_of(shared);
        pair.source = aligned_alloc(4096, BENCH_DATA);
        pair.target = aligned_alloc(4096, BENCH_DATA);
        memset(pair.source, 0x40 + shared->rank, BENCH_DATA);
        memset(pair.target, 0, BENCH_DATA);
        contact[shared->rank].process = (long)getpid();
        contact[shared->rank].source = pair.source;
    }
    PMPI_Bcast(&contact[0], (int)sizeof contact[0], MPI_BYTE, 0, shared->control);
    PMPI_Bcast(&contact[1], (int)sizeof contact[1], MPI_BYTE, 1, shared->control);
    shared_meet(shared, true);
    if (shared->rank < 2) {
        pair.peer = (pid_t)contact[1 - shared->rank].process;
        pair.peer_source = contact[1 - shared->rank].source;
        measure_pair(&pair, out);
        free(pair.source);
        free(pair.target);
    }
    shared_meet(shared, true); // the others sleep meanwhile
}

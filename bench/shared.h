// What the processes of the benchmark share outside of MPI: a clock, flags and a data area.
#ifndef FANLIGHT_BENCH_SHARED_H
#define FANLIGHT_BENCH_SHARED_H

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define BENCH_LINE 128 // two cache lines: the prefetcher fetches them in pairs

// One writer each; only ever grows.
typedef struct Flag {
    _Alignas(BENCH_LINE) _Atomic uint64_t value;
} Flag;

// Where a rank writes its number at a meeting for the others to read: two, used in turn.
typedef struct Desk {
    _Alignas(BENCH_LINE) double number[2];
} Desk;

typedef struct Shared {
    MPI_Comm control;    // the benchmark's own communicator, unknown to what is measured
    int rank, ranks;
    int nodes;
    int machine_rank, machine_ranks;
    cpu_set_t allowed;   // the union of the affinity masks of this machine's ranks
    int cores;           // how many these are
    bool oversubscribed; // more ranks than cores on a machine
    bool mapped;         // the area below exists; only when all ranks are on one node
    Flag *entered;       // one per rank
    Flag *signal;        // one per rank, for the limits
    Desk *desk;          // one per rank, for agreed_maximum
    Flag *mark;          // one per rank, for checking barriers
    unsigned char *data; // BENCH_DATA bytes
    uint64_t meetings;
} Shared;

#define BENCH_DATA ((size_t)4 << 20)

void shared_open(Shared *shared);
void shared_close(Shared *shared);

// Each rank to a core of its own. False, and nothing done, where there are not enough, or one may not be bound.
bool shared_bind(Shared *shared);

// All ranks arrive before one leaves. `patient` ranks sleep instead of taking a core away from
// those that measure meanwhile.
void shared_meet(Shared *shared, bool patient);

// The largest of all ranks' numbers. A meeting.
double agreed_maximum(Shared *shared, double mine);

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void flag_set(Flag *flag, uint64_t value)
{
    atomic_store_explicit(&flag->value, value, memory_order_release);
}

static inline uint64_t flag_get(Flag *flag)
{
    return atomic_load_explicit(&flag->value, memory_order_acquire);
}

#endif

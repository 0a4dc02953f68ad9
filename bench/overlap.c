// How much of a non-blocking allreduce computation hides that calls MPI_Test now and then, by the MPI
// library and by Fanlight (when it is preloaded) in turn.
//
//   alone        MPI_Iallreduce, MPI_Wait
//   computation  as long as that, by itself
//   together     MPI_Iallreduce, the computation with an MPI_Test every SLICE seconds, MPI_Wait
//   hidden       (alone + computation - together) / the shorter of both: 1 where it costs nothing
//
// The computation is so many operations, not so many seconds: what takes its core away from it shows.
//
//   fanlight-bench-overlap-<mpi> [--bind] [BYTES [TIMES]]
//
// --bind: each rank to a core of its own, if there are enough.
#include "run_line.h"
#include "shared.h"
#include "statistics.h"

#include <string.h>

enum { MOST_TIMES = 1000, WARM_CALLS = 100, SIDES = 2, TRIALS = 5 };
static const double SLICE = 50e-6;

typedef struct Bench {
    Shared shared;
    int count;
    double *send, *receive;
    long operations; // of the computation, in a slice
    long wrong[SIDES];
} Bench;

static int start_of_library(Bench *b, MPI_Request *r)
{
    return PMPI_Iallreduce(b->send, b->receive, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int start_of_program(Bench *b, MPI_Request *r)
{
    return MPI_Iallreduce(b->send, b->receive, b->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, r);
}
static int (*const starts[SIDES])(Bench *, MPI_Request *) = {start_of_library, start_of_program};
static int (*const tests[SIDES])(MPI_Request *, int *, MPI_Status *) = {PMPI_Test, MPI_Test};
static int (*const waits[SIDES])(MPI_Request *, MPI_Status *) = {PMPI_Wait, MPI_Wait};

static void compute(long operations)
{
    static volatile double kept; // so that it is computed, each time
    double x = kept;
    for (long i = 0; i < operations; ++i)
        x = x * 0.999999 + 1e-6;
    kept = x;
}

static void calibrate(Bench *b)
{
    enum { SOME = 1000000 };
    double best = 1;
    for (int i = 0; i < TRIALS; ++i) {
        double begin = now();
        compute(SOME);
        double taken = now() - begin;
        best = taken < best ? taken : best;
    }
    b->operations = (long)(SLICE / agreed_maximum(&b->shared, best) * SOME);
}

// Of the slowest rank: `slices` of computation, with the operation (if side >= 0) behind them.
static double measure(Bench *b, int side, int slices)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    if (side >= 0)
        memset(b->receive, 0, sizeof *b->receive * (size_t)b->count);
    shared_meet(&b->shared, false);
    double begin = now();
    if (side >= 0)
        starts[side](b, &request);
    for (int i = 0; i < slices; ++i) {
        compute(b->operations);
        if (side >= 0 && !done)
            tests[side](&request, &done, MPI_STATUS_IGNORE);
    }
    if (side >= 0)
        waits[side](&request, MPI_STATUS_IGNORE);
    double taken = agreed_maximum(&b->shared, now() - begin);
    int n = b->shared.ranks;
    for (int i = 0; side >= 0 && i < b->count; ++i)
        b->wrong[side] += b->receive[i] != n * (n - 1) / 2 + (double)n * (i % 1000);
    return taken;
}

typedef struct Figures {
    double alone[MOST_TIMES], computation[MOST_TIMES], together[MOST_TIMES], hidden[MOST_TIMES];
} Figures;

static void write_figures(const char *name, Figures *f, int times)
{
    printf(",\"%s\":{\"alone\":", name);
    statistics_write(stdout, statistics_of(f->alone, times));
    printf(",\"computation\":");
    statistics_write(stdout, statistics_of(f->computation, times));
    printf(",\"together\":");
    statistics_write(stdout, statistics_of(f->together, times));
    Statistics hidden = statistics_of(f->hidden, times);
    printf(",\"hidden\":{\"median\":%.3f,\"q1\":%.3f,\"q3\":%.3f}}", hidden.median, hidden.lower_quartile, hidden.upper_quartile);
}

int main(int argc, char **argv)
{
    static Bench b;
    static Figures figures[SIDES];
    static const char *const names[SIDES] = {"native", "fanlight"};
    MPI_Init(&argc, &argv);
    shared_open(&b.shared);
    bool bind = argc > 1 && strcmp(argv[1], "--bind") == 0;
    if (bind)
        ++argv, --argc;
    bool bound = bind && shared_bind(&b.shared);
    if (b.shared.rank == 0)
        write_run_line(stdout, &b.shared, bound, 1);
    b.count = (argc > 1 ? atoi(argv[1]) : 1 << 20) / (int)sizeof(double);
    b.count = b.count < 1 ? 1 : b.count;
    int times = argc > 2 ? atoi(argv[2]) : 51;
    times = times < 1 ? 1 : times > MOST_TIMES ? MOST_TIMES : times;
    b.send = malloc(sizeof *b.send * (size_t)b.count), b.receive = malloc(sizeof *b.receive * (size_t)b.count);
    for (int i = 0; i < b.count; ++i)
        b.send[i] = b.shared.rank + i % 1000;
    for (int i = 0; i < WARM_CALLS; ++i) { // Fanlight begins to serve the one kind of calls in the other
        MPI_Request request;
        starts[1](&b, &request);
        waits[1](&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }

    calibrate(&b);
    int slices[SIDES];
    for (int side = 0; side < SIDES; ++side) {
        double trials[TRIALS];
        measure(&b, side, 0);
        for (int i = 0; i < TRIALS; ++i)
            trials[i] = measure(&b, side, 0);
        slices[side] = 1 + (int)(statistics_of(trials, TRIALS).median / SLICE);
    }
    for (int i = 0; i < times; ++i)
        for (int turn = 0; turn < SIDES; ++turn) {
            int side = (turn + i) % SIDES; // neither is always the first
            Figures *f = &figures[side];
            double alone = f->alone[i] = measure(&b, side, 0), computation = f->computation[i] = measure(&b, -1, slices[side]);
            f->together[i] = measure(&b, side, slices[side]);
            f->hidden[i] = (alone + computation - f->together[i]) / (alone < computation ? alone : computation);
        }
    long wrong[SIDES];
    PMPI_Allreduce(b.wrong, wrong, SIDES, MPI_LONG, MPI_SUM, b.shared.control);
    for (int side = 0; side < SIDES; ++side)
        if (b.shared.rank == 0 && wrong[side])
            printf("{\"type\":\"wrong\",\"operation\":\"iallreduce\",\"size\":%zu,\"side\":\"%s\",\"words\":%ld}\n",
                   sizeof(double) * (size_t)b.count, names[side], wrong[side]);
    if (b.shared.rank == 0) {
        printf("{\"type\":\"overlap\",\"operation\":\"iallreduce\",\"size\":%zu,\"ranks\":%d,\"times\":%d,\"unit\":\"us\"",
               sizeof(double) * (size_t)b.count, b.shared.ranks, times);
        for (int side = 0; side < SIDES; ++side)
            write_figures(names[side], &figures[side], times);
        printf("}\n");
    }
    free(b.send), free(b.receive);
    shared_close(&b.shared);
    MPI_Finalize();
    return wrong[0] || wrong[1];
}

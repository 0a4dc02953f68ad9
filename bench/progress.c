// How soon the MPI library moves on while a rank waits in a collective: what one rank asks of
// another that waits in a barrier, by the MPI library's barrier and by Fanlight's (when it is
// preloaded) in turn.
//
//   accumulate    MPI_Accumulate of 4 MiB to a waiting rank, until MPI_Win_unlock returns
//   fetch_and_op  MPI_Fetch_and_op on a waiting rank's counter, until MPI_Win_flush returns
//   vector        MPI_Recv of a 4 MiB vector type that a rank sent (MPI_Isend) before it waits
//
// Windows are MPI_Win_create's: the MPI libraries move what concerns them in fragments, each of
// which needs a poll at the target. Rank 0 asks, rank 1 is asked, all but rank 0 wait. `after` is
// how long they have waited already: a waiting rank that has gone to sleep must wake in time.
//
//   fanlight-bench-progress-<mpi> [--bind] [TIMES]
//
// --bind: each rank to a core of its own, if there are enough.
#include "run_line.h"
#include "shared.h"
#include "statistics.h"

#include <string.h>

enum { BYTES = 4 << 20, DOUBLES = BYTES / 8, MOST_TIMES = 1000, OPERATIONS = 100, WARM_CALLS = 100 };
enum { ASKS = 0, ASKED = 1, SIDES = 2 };

typedef struct Bench {
    Shared shared;
    MPI_Win window;
    MPI_Datatype every_second; // of DOUBLES doubles
    double *numbers, *strided;
} Bench;

static int barrier_of_library(MPI_Comm comm) { return PMPI_Barrier(comm); }
static int barrier_of_program(MPI_Comm comm) { return MPI_Barrier(comm); }
static int (*const barriers[SIDES])(MPI_Comm) = {barrier_of_library, barrier_of_program};

// Each returns what rank 0 measured; how often it had asked is in *asked.
static double accumulate(Bench *b)
{
    double begin = now();
    MPI_Win_lock(MPI_LOCK_SHARED, ASKED, 0, b->window);
    MPI_Accumulate(b->numbers, DOUBLES, MPI_DOUBLE, ASKED, 0, DOUBLES, MPI_DOUBLE, MPI_SUM, b->window);
    MPI_Win_unlock(ASKED, b->window);
    return now() - begin;
}

static double fetch_and_op(Bench *b)
{
    const double one = 1;
    double before;
    static double each[OPERATIONS];
    MPI_Win_lock(MPI_LOCK_SHARED, ASKED, 0, b->window);
    for (int i = 0; i < OPERATIONS; ++i) {
        double begin = now();
        MPI_Fetch_and_op(&one, &before, MPI_DOUBLE, ASKED, 0, MPI_SUM, b->window);
        MPI_Win_flush(ASKED, b->window);
        each[i] = now() - begin;
    }
    MPI_Win_unlock(ASKED, b->window);
    return statistics_of(each, OPERATIONS).median;
}

static double receive(Bench *b)
{
    double begin = now();
    MPI_Recv(b->strided, 1, b->every_second, ASKED, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return now() - begin;
}

typedef struct Case {
    const char *name;
    double (*ask)(Bench *);
    bool sends; // the rank that is asked begins with a send
} Case;
static const Case cases[] = {
    {"accumulate", accumulate, false}, {"fetch_and_op", fetch_and_op, false}, {"vector", receive, true}};

static double measure(Bench *b, const Case *c, int side, double after)
{
    MPI_Request request = MPI_REQUEST_NULL;
    double taken = 0;
    shared_meet(&b->shared, false);
    if (b->shared.rank == ASKS) {
        for (double until = now() + after; now() < until;)
            cpu_pause(); // as a program that computes
        taken = c->ask(b);
    } else if (b->shared.rank == ASKED && c->sends) {
        MPI_Isend(b->strided, 1, b->every_second, ASKS, 0, MPI_COMM_WORLD, &request);
    }
    barriers[side](MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return agreed_maximum(&b->shared, taken);
}

static void compare(Bench *b, const Case *c, double after, int times)
{
    static double each[SIDES][MOST_TIMES], ratio[MOST_TIMES];
    for (int i = -2; i < times; ++i) // the first ones warm up
        for (int turn = 0; turn < SIDES; ++turn) {
            int side = (turn + i + 2) % SIDES; // neither is always the first
            double taken = measure(b, c, side, after);
            if (i >= 0)
                each[side][i] = taken;
        }
    if (b->shared.rank != 0)
        return;
    for (int i = 0; i < times; ++i)
        ratio[i] = each[1][i] / each[0][i];
    printf("{\"type\":\"progress\",\"case\":\"%s\",\"after\":%g,\"ranks\":%d,\"times\":%d,\"unit\":\"us\",\"native\":",
           c->name, 1e6 * after, b->shared.ranks, times);
    Statistics native = statistics_of(each[0], times), fanlight = statistics_of(each[1], times);
    statistics_write(stdout, native);
    printf(",\"fanlight\":");
    statistics_write(stdout, fanlight);
    printf(",\"ratio\":%.3f,\"ratio_of_pairs\":%.3f}\n", fanlight.median / native.median, statistics_of(ratio, times).median);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static Bench b;
    static const double waits[] = {0, 20e-3};
    MPI_Init(&argc, &argv);
    shared_open(&b.shared);
    bool bind = argc > 1 && strcmp(argv[1], "--bind") == 0;
    if (bind)
        ++argv, --argc;
    bool bound = bind && shared_bind(&b.shared);
    int times = argc > 1 ? atoi(argv[1]) : 21, figures = (int)(sizeof cases / sizeof *cases * (sizeof waits / sizeof *waits));
    times = times < 1 ? 1 : times > MOST_TIMES ? MOST_TIMES : times;
    if (b.shared.rank == 0)
        write_run_line(stdout, &b.shared, bound, figures);
    if (b.shared.ranks < 2) {
        fprintf(stderr, "fanlight-bench-progress: two ranks at least\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    b.numbers = malloc(BYTES), b.strided = malloc(2 * BYTES);
    double *memory = malloc(BYTES);
    memset(memory, 0, BYTES), memset(b.strided, 0, 2 * BYTES);
    for (int i = 0; i < DOUBLES; ++i)
        b.numbers[i] = i % 100;
    MPI_Win_create(memory, BYTES, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &b.window);
    MPI_Type_vector(DOUBLES, 1, 2, MPI_DOUBLE, &b.every_second);
    MPI_Type_commit(&b.every_second);
    for (int i = 0; i < WARM_CALLS; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    for (size_t w = 0; w < sizeof waits / sizeof *waits; ++w)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
            compare(&b, &cases[i], waits[w], times);
    MPI_Type_free(&b.every_second);
    MPI_Win_free(&b.window);
    free(memory), free(b.numbers), free(b.strided);
    shared_close(&b.shared);
    MPI_Finalize();
    return 0;
}

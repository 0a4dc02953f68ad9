// Unsteady 3-D heat conduction with temperature-dependent diffusivity, four exchanges.
//
//   mpiexec -n 2 heat3d --exchange all --per-rank 64 64 128 --steps 200
//
// H. Zhou, J. Gracia, "Towards performance portability through locality-awareness for
// applications using one-sided communication primitives", 2016, is where the comparison is from.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exchange.h"
#include "fanlight/dart.h"
#include "kernel.h"
#include "output.h"
#include "../../bench/statistics.h"

typedef struct Options {
    int cells[3], per_rank, steps, check_every, verify, aligned, show, past_cache;
    double beta, tolerance;
    const char *exchange, *vtk, *png;
} Options;

static const Exchange *const exchanges[] = {&exchange_sendrecv, &exchange_rma, &exchange_dart, &exchange_fanlight};
enum { exchange_count = 4 };

static const double pi = 3.14159265358979323846;
static int rank, size, ranks_on_node, level;

// This thread's time on a core.
static double core_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char too_large[] = "the grid is too large for the memory";

// The end, by one rank.
static void fail(const char *why, const char *help)
{
    fprintf(stderr, "heat3d: %s\n%s", why, help);
    // MPICH's mpiexec drops what it has not read yet when a rank aborts.
    nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

// By all ranks, of which one says why before any ends.
static void stop(const char *why, const char *help)
{
    if (rank == 0)
        fail(why, help);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *allocated(void *memory)
{
    if (!memory)
        fail(too_large, "");
    return memory;
}

static double distance(const Grid *g, int d) { return 1.0 / (g->cells[d] + 1); }

// The default problem: cold, with one hot edge (below z = 0).  verify: a mode that only decays.
static void start(const Grid *g, double *u, int verify)
{
    for (int z = -1; z <= g->size[2]; z++)
        for (int y = -1; y <= g->size[1]; y++)
            for (int x = -1; x <= g->size[0]; x++) {
                int c[3] = {x + g->start[0], y + g->start[1], z + g->start[2]};
                double value = !verify && c[2] < 0 ? 1 : 0;
                if (verify) {
                    value = 1;
                    for (int d = 0; d < 3; d++)
                        value *= c[d] < 0 || c[d] >= g->cells[d] ? 0 : sin(pi * (c[d] + 1) * distance(g, d));
                }
                u[grid_index(g, x, y, z)] = value;
            }
}

// The step that is stable for temperatures up to 1.
static double stable_step(const Grid *g, double beta)
{
    double sum = 0;
    for (int d = 0; d < 3; d++)
        sum += 1 / (distance(g, d) * distance(g, d));
    return 0.9 / (2 * (1 + beta) * sum);
}

static void progress(int step, int steps)
{
    if (rank != 0 || !isatty(2) || (step % (steps / 50 + 1) && step != steps))
        return;
    int done = 40 * step / steps;
    fprintf(stderr, "\r[%.*s%*s] %d of %d%s", done, "########################################", 40 - done, "", step,
            steps, step == steps ? "\n" : "");
}

// D0 dt / h^2 of each direction.
static void ratios(const Grid *g, double dt, double r[3])
{
    for (int d = 0; d < 3; d++)
        r[d] = dt / (distance(g, d) * distance(g, d));
}

// Returns which field is the result, in *steps how many steps were made, and what each took.
// aligned: all ranks begin an exchange together, so that nobody's computation is in it.
static int solve(Grid *g, const Exchange *e, int *steps, double dt, double beta, double tolerance, int check_every,
                 int aligned, Times *times)
{
    double r[3];
    ratios(g, dt, r);
    int most = *steps, which = 0;
    for (int step = 1; step <= most; step++, which = !which) {
        Times *t = &times[step - 1];
        *t = (Times){0, 0, 0, 0};
        if (aligned)
            MPI_Barrier(g->comm);
        double begin = MPI_Wtime();
        e->fill(g, which, t);
        double filled = MPI_Wtime();
        kernel_step(level, g, g->field[which], g->field[!which], r, beta);
        t->fill = filled - begin;
        t->computation = MPI_Wtime() - filled;
        progress(step, most);
        if (tolerance > 0 && step % check_every == 0) {
            double change = kernel_change(g, g->field[which], g->field[!which]);
            begin = MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, g->comm);
            t->synchronization += MPI_Wtime() - begin;
            if (change < tolerance) {
                *steps = step;
                return !which;
            }
        }
    }
    return which;
}

// The whole field on rank 0; null on the others.
static double *gathered(const Grid *g, const double *u)
{
    // Each rank's cells are one element of a type: there may be more of them than an int counts.
    const double *first = u + grid_index(g, 0, 0, 0);
    double *all = NULL;
    MPI_Datatype plane, own;
    MPI_Type_vector(g->size[1], g->size[0], (int)g->stride[1], MPI_DOUBLE, &plane);
    MPI_Type_create_hvector(g->size[2], 1, (MPI_Aint)(g->stride[2] * sizeof *u), plane, &own);
    MPI_Type_commit(&own);
    MPI_Type_free(&plane);
    if (rank != 0) {
        MPI_Send(first, 1, own, 0, 0, g->comm);
    } else {
        all = allocated(malloc((size_t)g->cells[0] * (size_t)g->cells[1] * (size_t)g->cells[2] * sizeof *all));
        for (int from = 0; from < size; from++) {
            int at[3], lengths[3], starts[3], c[3] = {g->cells[2], g->cells[1], g->cells[0]};
            grid_place(g, from, at);
            for (int d = 0; d < 3; d++)
                lengths[2 - d] = grid_share(g->cells[d], g->ranks[d], at[d], &starts[2 - d]);
            MPI_Datatype part;
            MPI_Type_create_subarray(3, c, lengths, starts, MPI_ORDER_C, MPI_DOUBLE, &part);
            MPI_Type_commit(&part);
            if (from == 0)
                MPI_Sendrecv(first, 1, own, 0, 0, all, 1, part, 0, 0, g->comm, MPI_STATUS_IGNORE);
            else
                MPI_Recv(all, 1, part, from, 0, g->comm, MPI_STATUS_IGNORE);
            MPI_Type_free(&part);
        }
    }
    MPI_Type_free(&own);
    return all;
}

static uint64_t hash_of(const double *field, size_t n)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < n * sizeof *field; i++)
        hash = (hash ^ ((const unsigned char *)field)[i]) * 1099511628211u;
    return hash;
}

// What a step moves: each cell read and written, and fetched before that where it goes through the cache.
static double bytes_of(const Grid *g, size_t cells) { return (g->past_cache ? 16.0 : 24.0) * (double)cells; }

// What all ranks together move in a second, by steps and by copies in memory as a private field
// has it: the medians of turns, each begun by all together, by the time on the core.
static void bandwidths(Grid *g, const double r[3], double beta, double rate[2])
{
    enum { turns = 9, ways = 2 };
    double took[2][turns], *private = allocated(grid_private_memory(g)), *other = private + g->doubles;
    for (size_t i = 0; i < g->doubles; i++)
        private[i] = other[i] = 1;
    for (int turn = 0; turn < turns; turn++)
        for (int copy = 0; copy < 2; copy++) {
            MPI_Barrier(g->comm);
            // Forth and back, as the steps are; and twice, the first time for the caches alone.
            for (int again = 0; again < 2; again++) {
                double begin = core_seconds();
                for (int way = 0; way < ways; way++)
                    if (copy)
                        kernel_copy(level, way ? other : private, way ? private : other, g->doubles, g->past_cache);
                    else
                        kernel_step(level, g, g->field[way], g->field[!way], r, beta);
                took[copy][turn] = core_seconds() - begin;
            }
        }
    free(private);
    size_t cells = (size_t)g->size[0] * (size_t)g->size[1] * (size_t)g->size[2];
    for (int copy = 0; copy < 2; copy++)
        rate[copy] = ways * bytes_of(g, copy ? g->doubles : cells) / statistics_of(took[copy], turns).median;
    MPI_Allreduce(MPI_IN_PLACE, rate, 2, MPI_DOUBLE, MPI_SUM, g->comm);
}

// Of one part of the steps' times: the sum, as the mean of the ranks, in seconds; or the median,
// as the slowest rank's, in microseconds.
static double part_of(const Times *times, int steps, size_t part, int median)
{
    double *sample = allocated(malloc((size_t)steps * sizeof *sample)), value = 0;
    for (int i = 0; i < steps; i++) {
        sample[i] = *(const double *)((const char *)&times[i] + part);
        value += sample[i] / size;
    }
    if (median)
        value = 1e6 * statistics_of(sample, steps).median;
    free(sample);
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, median ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    return value;
}

// Microseconds have fewer of them than seconds.
static int digits(const Options *o) { return o->aligned ? 1 : 4; }

static int on_all(const Grid *g, int good)
{
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_LAND, g->comm);
    return good;
}

// The fields' memory, or the end.  A system may promise more memory than there is, and end a process that uses it.
static void make_fields(const Exchange *e, Grid *g)
{
    // Fields to copy, of which the bandwidths are, and the whole one on rank 0 come later.
    double all = rank == 0 ? (double)g->cells[0] * g->cells[1] * g->cells[2] : 0;
    double needed = sizeof(double) * (4.0 * (double)g->doubles * ranks_on_node + all);
    double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (!on_all(g, needed <= there) || !on_all(g, e->begin(g)))
        stop(too_large, "");
}

static void make_grid(Grid *g, const int cells[3], int per_rank)
{
    const char *wrong = grid_make(g, cells, per_rank, MPI_COMM_WORLD);
    if (wrong)
        stop(wrong, "");
}

// One run; the hash of its field on rank 0.
static uint64_t run(const Options *o, const Exchange *e)
{
    Grid g;
    make_grid(&g, o->cells, o->per_rank);
    g.past_cache = o->past_cache || kernel_goes_past_cache(&g, ranks_on_node);
    make_fields(e, &g);
    start(&g, g.field[0], 0);
    start(&g, g.field[1], 0);
    int steps = o->steps;
    Times *times = allocated(malloc((size_t)steps * sizeof *times));
    double dt = stable_step(&g, o->beta), r[3], rate[2];
    ratios(&g, dt, r);
    MPI_Barrier(g.comm);
    double begin = MPI_Wtime();
    int which = solve(&g, e, &steps, dt, o->beta, o->tolerance, o->check_every, o->aligned, times);
    double total = MPI_Wtime() - begin;
    double computation = part_of(times, steps, offsetof(Times, computation), o->aligned);
    double exchange = part_of(times, steps, offsetof(Times, exchange), o->aligned);
    double synchronization = part_of(times, steps, offsetof(Times, synchronization), o->aligned);
    double fill = part_of(times, steps, offsetof(Times, fill), o->aligned);
    free(times);
    double *all = gathered(&g, g.field[which]);
    bandwidths(&g, r, o->beta, rate);
    uint64_t hash = 0;
    if (rank == 0) {
        size_t n = (size_t)g.cells[0] * (size_t)g.cells[1] * (size_t)g.cells[2];
        hash = hash_of(all, n);
        printf("%-9s %6d %9.4f %11.*f %9.*f %15.*f %9.*f %11.1f %9.1f %5.0f %%  %016llx\n", e->name, steps, total,
               digits(o), computation, digits(o), exchange, digits(o), synchronization, digits(o), fill,
               rate[0] * 1e-9, rate[1] * 1e-9, 100 * rate[0] / rate[1], (unsigned long long)hash);
        fflush(stdout);
        if (o->vtk && !output_vtk(o->vtk, all, g.cells))
            fprintf(stderr, "heat3d: %s cannot be written\n", o->vtk);
        if (o->png && !output_png(o->png, all, g.cells))
            fprintf(stderr, "heat3d: %s cannot be written\n", o->png);
        if (o->show)
            output_text(all, g.cells);
        free(all);
    }
    e->end(&g);
    return hash;
}

// A step by each level of the kernel from the same field: every bit is the same.
static int levels_agree(const Grid *g, int which)
{
    const double r[3] = {0.05, 0.06, 0.07};
    double *made = allocated(grid_private_memory(g));
    int same = 1;
    for (int i = 0; i < kernel_levels(); i++) {
        double *next = i == 0 ? g->field[!which] : made;
        kernel_step(i, g, g->field[which], next, r, 0.5);
        for (int z = 0; z < g->size[2]; z++)
            for (int y = 0; y < g->size[1]; y++) {
                size_t at = grid_index(g, 0, y, z), bytes = (size_t)g->size[0] * sizeof(double);
                same &= memcmp(g->field[!which] + at, next + at, bytes) == 0;
            }
    }
    free(made);
    same = on_all(g, same);
    if (rank == 0 && !same)
        printf("The levels of the kernel differ\n");
    return same;
}

// Constant diffusivity, a mode that decays as exp(-3 pi^2 t): the error falls with the square of
// the distance between the cells.
static int verify(const Exchange *e, int past_cache)
{
    double before = 0, order = 0, until = 0.02;
    int same = 1;
    for (int n = 7; n <= 31; n = 2 * n + 1) {
        Grid g;
        int cells[3] = {n, n, n};
        make_grid(&g, cells, 0);
        g.past_cache = past_cache;
        make_fields(e, &g);
        start(&g, g.field[0], 1);
        start(&g, g.field[1], 1);
        int steps = (int)ceil(until / (0.5 * stable_step(&g, 0)));
        Times *times = allocated(malloc((size_t)steps * sizeof *times));
        int which = solve(&g, e, &steps, until / steps, 0, 0, 1, 0, times);
        free(times);
        double error = 0;
        for (int z = 0; z < g.size[2]; z++)
            for (int y = 0; y < g.size[1]; y++)
                for (int x = 0; x < g.size[0]; x++) {
                    double exact = exp(-3 * pi * pi * until) * sin(pi * (x + g.start[0] + 1) * distance(&g, 0)) *
                                   sin(pi * (y + g.start[1] + 1) * distance(&g, 1)) *
                                   sin(pi * (z + g.start[2] + 1) * distance(&g, 2));
                    error = fmax(error, fabs(g.field[which][grid_index(&g, x, y, z)] - exact));
                }
        MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, g.comm);
        if (before > 0)
            order = log2(before / error);
        if (rank == 0)
            printf("%-9s %2d^3 cells, %4d steps: error %.3e%s%.3f\n", e->name, n, steps, error,
                   before > 0 ? ", order " : ", order - ", order);
        before = error;
        same &= levels_agree(&g, which);
        e->end(&g);
    }
    return order > 1.9 && order < 2.1 && same;
}

static void usage(const char *wrong)
{
    stop(wrong,
         "  --exchange NAME       sendrecv, rma, dart, fanlight, or all (default)\n"
         "  --grid X Y Z          cells of the whole (default 64 64 64)\n"
         "  --per-rank X Y Z      cells of each rank instead\n"
         "  --steps N             at most so many (default 100)\n"
         "  --tolerance T         stop when no cell changes by more than T in a step\n"
         "  --check-every N       steps between these looks (default 10)\n"
         "  --beta B              diffusivity 1 + B u (default 0.5)\n"
         "  --aligned             all ranks begin each exchange together; medians, in microseconds\n"
         "  --past-cache          a step's results past the cache also where it could hold them\n"
         "  --vtk FILE, --png FILE, --show (the slice by characters)\n"
         "  --verify              against an analytic solution\n");
}

static Options parse(int argc, char **argv)
{
    Options o = {{64, 64, 64}, 0, 100, 10, 0, 0, 0, 0, 0.5, 0, "all", NULL, NULL};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        int values = 1;
        if (strcmp(name, "--verify") == 0 || strcmp(name, "--aligned") == 0 || strcmp(name, "--show") == 0 ||
            strcmp(name, "--past-cache") == 0)
            values = 0;
        else if (strcmp(name, "--grid") == 0 || strcmp(name, "--per-rank") == 0)
            values = 3;
        if (i + values >= argc)
            usage("a value is missing");
        char **value = argv + i + 1;
        if (values == 3) {
            for (int d = 0; d < 3; d++)
                o.cells[d] = atoi(value[d]);
            o.per_rank = strcmp(name, "--per-rank") == 0;
        } else if (strcmp(name, "--exchange") == 0) {
            o.exchange = *value;
        } else if (strcmp(name, "--steps") == 0) {
            o.steps = atoi(*value);
        } else if (strcmp(name, "--tolerance") == 0) {
            o.tolerance = atof(*value);
        } else if (strcmp(name, "--check-every") == 0) {
            o.check_every = atoi(*value);
        } else if (strcmp(name, "--beta") == 0) {
            o.beta = atof(*value);
        } else if (strcmp(name, "--vtk") == 0) {
            o.vtk = *value;
        } else if (strcmp(name, "--png") == 0) {
            o.png = *value;
        } else if (strcmp(name, "--verify") == 0) {
            o.verify = 1;
        } else if (strcmp(name, "--aligned") == 0) {
            o.aligned = 1;
        } else if (strcmp(name, "--show") == 0) {
            o.show = 1;
        } else if (strcmp(name, "--past-cache") == 0) {
            o.past_cache = 1;
        } else {
            usage("no such option");
        }
        i += values;
    }
    if (o.cells[0] < 1 || o.cells[1] < 1 || o.cells[2] < 1 || o.steps < 1 || o.check_every < 1 || o.beta < 0)
        usage("a number must be positive");
    return o;
}

int main(int argc, char **argv)
{
    dart_init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks_on_node);
    MPI_Comm_free(&node);
    level = kernel_levels() - 1;
    Options o = parse(argc, argv);
    int found = 0, good = 1;
    uint64_t first = 0;
    if (rank == 0 && !o.verify)
        printf("%s\n%-9s %6s %9s %11s %9s %15s %9s %11s %9s %7s  %s\n",
               o.aligned ? "total: seconds; its parts: microseconds, a step's median on the slowest rank"
                         : "seconds; the parts: mean of the ranks",
               "exchange", "steps", "total", "computation", "exchange", "synchronization", "fill", "kernel GB/s",
               "copy GB/s", "share", "field");
    for (int i = 0; i < exchange_count; i++) {
        if (strcmp(o.exchange, "all") != 0 && strcmp(o.exchange, exchanges[i]->name) != 0)
            continue;
        if (o.verify) {
            good &= verify(exchanges[i], o.past_cache);
        } else {
            uint64_t hash = run(&o, exchanges[i]);
            good &= found == 0 || hash == first;
            first = hash;
        }
        found++;
    }
    if (found == 0)
        usage("no such exchange");
    if (rank == 0)
        printf("%s\n", good ? "ok" : o.verify ? "The order is not 2" : "The fields differ");
    dart_exit();
    return good || rank != 0 ? 0 : 1;
}

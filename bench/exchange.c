#include "exchange.h"
#include "statistics.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct Spike {
    int gid;
    double time;
} Spike;

typedef int Any(const void *, int, MPI_Datatype, void *, int, int *, int *, MPI_Datatype, MPI_Comm);

typedef enum Way { LIBRARY, PRELOAD, ANY, WAYS } Way;
static const char *const way_names[WAYS] = {"library", "preload", "any"};

typedef struct Exchange {
    Shared *shared;
    MPI_Datatype spike;
    Any *any;           // null without Fanlight
    int silent, spikes; // of the ranks; of each other one
    Spike *mine, *all;
    int *counts, *displacements;
} Exchange;

enum { MAX_EXCHANGE_BLOCKS = 1000, MOST_SPIKES = 30, WARM_EXCHANGES = 30 };

// Who is silent changes from call to call.
static int spikes_of(const Exchange *x, int rank, long call)
{
    return (int)((rank + call) % x->shared->ranks) < x->silent ? 0 : x->spikes;
}

static void exchange(Exchange *x, Way way, long call)
{
    int own = spikes_of(x, x->shared->rank, call), ranks = x->shared->ranks;
    if (way == ANY) {
        x->any(x->mine, own, x->spike, x->all, ranks * MOST_SPIKES, x->counts, x->displacements, x->spike, MPI_COMM_WORLD);
        return;
    }
    if (way == LIBRARY)
        PMPI_Allgather(&own, 1, MPI_INT, x->counts, 1, MPI_INT, MPI_COMM_WORLD);
    else
        MPI_Allgather(&own, 1, MPI_INT, x->counts, 1, MPI_INT, MPI_COMM_WORLD);
    int total = 0;
    for (int r = 0; r < ranks; ++r) {
        x->displacements[r] = total;
        total += x->counts[r];
    }
    if (total == 0)
        return;
    if (way == LIBRARY)
        PMPI_Allgatherv(x->mine, own, x->spike, x->all, x->counts, x->displacements, x->spike, MPI_COMM_WORLD);
    else
        MPI_Allgatherv(x->mine, own, x->spike, x->all, x->counts, x->displacements, x->spike, MPI_COMM_WORLD);
}

static long wrong_spikes(Exchange *x, Way way, long call)
{
    int ranks = x->shared->ranks, at = 0;
    for (int i = 0; i < MOST_SPIKES; ++i)
        x->mine[i] = (Spike){x->shared->rank * 1000 + i + (int)call, (double)(call * 100 + i)};
    memset(x->all, 0xA5, sizeof(Spike) * (size_t)(ranks * MOST_SPIKES));
    memset(x->counts, 0xA5, sizeof(int) * (size_t)ranks);
    exchange(x, way, call);
    long wrong = 0;
    for (int r = 0; r < ranks; ++r) {
        wrong += x->counts[r] != spikes_of(x, r, call) || x->displacements[r] != at;
        for (int i = 0; i < spikes_of(x, r, call); ++i, ++at)
            wrong += x->all[at].gid != r * 1000 + i + (int)call || x->all[at].time != (double)(call * 100 + i);
    }
    return wrong;
}

static double time_block(Exchange *x, Way way, long calls)
{
    shared_meet(x->shared, false);
    double begin = now();
    for (long i = 0; i < calls; ++i)
        exchange(x, way, i);
    return agreed_maximum(x->shared, now() - begin);
}

static bool measure(Exchange *x, int blocks, double block_seconds, FILE *out)
{
    static double each[WAYS][MAX_EXCHANGE_BLOCKS];
    int ways = x->any ? WAYS : ANY;
    long calls[WAYS] = {0};
    bool right = true;
    for (int way = 0; way < ways; ++way) {
        long wrong = 0, all = 0;
        for (int i = 0; i < WARM_EXCHANGES; ++i)
            wrong += wrong_spikes(x, (Way)way, i);
        PMPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, x->shared->control);
        if (all && out)
            fprintf(out, "{\"type\":\"wrong\",\"operation\":\"exchange\",\"size\":%d,\"side\":\"%s\",\"words\":%ld}\n",
                    x->spikes, way_names[way], all);
        right = right && !all;
        double fastest = 1e9;
        for (int i = 0; i < 3; ++i) {
            double taken = time_block(x, (Way)way, 10) / 10;
            fastest = taken < fastest ? taken : fastest;
        }
        double wanted = block_seconds / fastest;
        calls[way] = wanted < 1 ? 1 : wanted > 1e6 ? 1000000 : (long)wanted;
    }
    for (int b = 0; b < blocks; ++b)
        for (int turn = 0; turn < ways; ++turn) {
            int way = (turn + b) % ways; // none is always the first
            each[way][b] = time_block(x, (Way)way, calls[way]) / (double)calls[way];
        }
    if (!out)
        return right;
    fprintf(out, "{\"type\":\"exchange\",\"silent\":%d,\"spikes\":%d,\"blocks\":%d", x->silent, x->spikes, blocks);
    for (int way = 0; way < ways; ++way) {
        fprintf(out, ",\"%s\":", way_names[way]);
        statistics_write(out, statistics_of(each[way], blocks));
    }
    fprintf(out, "}\n");
    fflush(out);
    return right;
}

bool measure_exchange(Shared *shared, int blocks, double block_seconds, FILE *out)
{
    size_t ranks = (size_t)shared->ranks;
    Exchange x = {.shared = shared,
                  .mine = calloc(MOST_SPIKES, sizeof(Spike)),
                  .all = calloc(ranks * MOST_SPIKES, sizeof(Spike)),
                  .counts = calloc(ranks, sizeof(int)),
                  .displacements = calloc(ranks, sizeof(int))};
    *(void **)&x.any = dlsym(RTLD_DEFAULT, "fanlight_allgatherv_any");
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {offsetof(Spike, gid), offsetof(Spike, time)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(2, lengths, places, types, &x.spike);
    MPI_Type_commit(&x.spike);
    const int shares[] = {0, shared->ranks / 2, shared->ranks - 1, shared->ranks}, numbers[] = {3, MOST_SPIKES};
    bool right = true;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; ++i)
        for (size_t j = 0; j < sizeof numbers / sizeof numbers[0]; ++j) {
            x.silent = shares[i];
            x.spikes = numbers[j];
            if ((i > 0 && shares[i] == shares[i - 1]) || (j > 0 && x.silent == shared->ranks))
                continue;
            right = measure(&x, blocks, block_seconds, out) && right;
        }
    MPI_Type_free(&x.spike);
    free(x.mine), free(x.all), free(x.counts), free(x.displacements);
    return right;
}

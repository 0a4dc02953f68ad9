// A persistent allreduce (MPI_Start, MPI_Wait) against the blocking one, by Fanlight when it is
// preloaded, else by the MPI library: blocks of calls of either alternate, so that a drift of the
// machine hits both. The time of a block is the longest of all ranks; the figure is the median
// over pairs of blocks of persistent / blocking.
//
//   fanlight-bench-persistent-<mpi> [--bind] [BYTES [PAIRS]]
//
// --bind: each rank to a core of its own, if there are enough.
#include "run_line.h"
#include "shared.h"
#include "statistics.h"

#include <string.h>

enum { CALLS = 300, WARM_CALLS = 100, MOST_PAIRS = 5000, BLOCKING = 0, PERSISTENT = 1 };

int main(int argc, char **argv)
{
    static Shared shared;
    MPI_Init(&argc, &argv);
    shared_open(&shared);
    bool bind = argc > 1 && strcmp(argv[1], "--bind") == 0;
    if (bind)
        ++argv, --argc;
    bool bound = bind && shared_bind(&shared);
    if (shared.rank == 0)
        write_run_line(stdout, &shared, bound, 1);
    int count = (argc > 1 ? atoi(argv[1]) : 8) / (int)sizeof(double), pairs = argc > 2 ? atoi(argv[2]) : 201;
    count = count < 1 ? 1 : count;
    pairs = pairs < 1 ? 1 : pairs > MOST_PAIRS ? MOST_PAIRS : pairs;
    double *send = malloc(sizeof *send * (size_t)count), *receive = malloc(sizeof *receive * (size_t)count);
    for (int i = 0; i < count; ++i)
        send[i] = shared.rank + i;
    for (int i = 0; i < WARM_CALLS; ++i)
        MPI_Allreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Allreduce_init(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);

    static double each[2][MOST_PAIRS], ratio[MOST_PAIRS];
    long wrong[2] = {0, 0};
    for (int pair = -1; pair < pairs; ++pair) { // the first one warms up
        for (int turn = 0; turn < 2; ++turn) {
            int how = (turn + pair + 1) % 2; // neither is always the first
            memset(receive, 0, sizeof *receive * (size_t)count);
            shared_meet(&shared, false);
            double begin = now();
            for (int i = 0; i < CALLS; ++i) {
                if (how == PERSISTENT) {
                    MPI_Start(&request);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                } else {
                    MPI_Allreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                }
            }
            double taken = agreed_maximum(&shared, now() - begin) / CALLS;
            if (pair >= 0)
                each[how][pair] = taken;
            int n = shared.ranks;
            for (int i = 0; i < count; ++i)
                wrong[how] += receive[i] != n * (n - 1) / 2 + (double)n * i;
        }
        if (pair >= 0)
            ratio[pair] = each[PERSISTENT][pair] / each[BLOCKING][pair];
    }
    static const char *const names[2] = {"blocking", "persistent"};
    long all_wrong[2];
    PMPI_Allreduce(wrong, all_wrong, 2, MPI_LONG, MPI_SUM, shared.control);
    for (int how = 0; how < 2; ++how)
        if (shared.rank == 0 && all_wrong[how])
            printf("{\"type\":\"wrong\",\"operation\":\"allreduce\",\"size\":%zu,\"side\":\"%s\","
                   "\"words\":%ld}\n", sizeof(double) * (size_t)count, names[how], all_wrong[how]);
    if (shared.rank == 0) {
        printf("{\"type\":\"persistent\",\"operation\":\"allreduce\",\"size\":%zu,\"ranks\":%d,\"pairs\":%d,"
               "\"unit\":\"us\",\"blocking\":",
               sizeof(double) * (size_t)count, shared.ranks, pairs);
        statistics_write(stdout, statistics_of(each[BLOCKING], pairs));
        printf(",\"persistent\":");
        statistics_write(stdout, statistics_of(each[PERSISTENT], pairs));
        Statistics of_ratio = statistics_of(ratio, pairs);
        printf(",\"ratio\":{\"median\":%.3f,\"q1\":%.3f,\"q3\":%.3f}}\n", of_ratio.median,
               of_ratio.lower_quartile, of_ratio.upper_quartile);
    }
    MPI_Request_free(&request);
    free(send), free(receive);
    shared_close(&shared);
    MPI_Finalize();
    return all_wrong[BLOCKING] || all_wrong[PERSISTENT];
}

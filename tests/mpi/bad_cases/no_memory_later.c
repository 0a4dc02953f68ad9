// No memory in calls without a communicator, and for what a non-blocking reduction needs besides the
// program's buffers: errors by error handlers or right results, and not the end of the program.
#include <sys/resource.h>

#include "case.h"

static struct rlimit before;

static void limit_memory(long more) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    struct rlimit limit = before;
    limit.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + more);
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

static const char *of(int code) { return code == MPI_SUCCESS ? "right" : "an error"; }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    getrlimit(RLIMIT_AS, &before);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Request request;
    for (int i = 0; i < 20; ++i) {
        checked_allreduce(comm, i, 3);
        MPI_Ibarrier(comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    // MPI_Waitall keeps an error of each.
    enum { MANY = 1 << 24 };
    MPI_Request *all = malloc(MANY * sizeof *all);
    REQUIRE(all);
    for (int i = 0; i < MANY; ++i) all[i] = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm, &all[0]);
    if (rank == 0) sleep(1);
    limit_memory(16 << 20);
    int code = MPI_Waitall(MANY, all, MPI_STATUSES_IGNORE);
    setrlimit(RLIMIT_AS, &before);
    if (rank == 1) printf("waitall: %s\n", of(code));
    REQUIRE(MPI_Wait(&all[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);

    enum { LONG = 1 << 25 };
    int *in = malloc(LONG * sizeof *in), *out = malloc(LONG * sizeof *out);
    REQUIRE(in && out);
    for (int i = 0; i < LONG; ++i) in[i] = i % 1000, out[i] = -1;
    limit_memory(32 << 20);
    code = MPI_Ireduce(in, out, LONG, MPI_INT, MPI_SUM, 0, comm, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    setrlimit(RLIMIT_AS, &before);
    if (code == MPI_SUCCESS && rank == 0) REQUIRE(out[LONG - 1] == (LONG - 1) % 1000 * size);
    printf("ireduce: %s\n", of(code));
    MPI_Barrier(MPI_COMM_WORLD);
    free(in);
    free(out);
    MPI_Comm_free(&comm);
    return done();
}

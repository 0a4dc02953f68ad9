// A broadcast of a datatype with gaps where there is no memory for the packed copy: an error by the
// communicator's error handler or a right result, and not the end of the program.
#include <sys/resource.h>

#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 20; ++i) checked_allreduce(comm, i, 3);
    enum { BLOCKS = 1 << 16, BLOCK = 512 };  // every second block: 128 MiB
    char *data = calloc(2 * BLOCKS, BLOCK * 4);
    REQUIRE(data);
    MPI_Datatype gaps;
    MPI_Type_vector(BLOCKS, BLOCK * 4, 2 * BLOCK * 4, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    if (rank == 0) memset(data, 7, 2ul * BLOCKS * BLOCK * 4);
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    struct rlimit before, limit;
    getrlimit(RLIMIT_AS, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64u << 20);
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    const int code = MPI_Bcast(data, 1, gaps, 0, comm);
    setrlimit(RLIMIT_AS, &before);
    if (code == MPI_SUCCESS) REQUIRE(data[0] == 7);
    if (rank == 0) printf("%s\n", code == MPI_SUCCESS ? "right" : "an error");
    MPI_Type_free(&gaps);
    free(data);
    MPI_Comm_free(&comm);
    return done();
}

// Collectives, and MPI_Finalize, in a handler of atexit: what a thread keeps from call to call has ended by then.
#include "case.h"

// `n` changes from call to call, so that each makes a new schedule.
static void all_kinds(int n) {
    checked_allreduce(MPI_COMM_WORLD, n, n);
    int *mine = malloc(sizeof(int) * (size_t)(n * size)), *all = malloc(sizeof(int) * (size_t)(n * size));
    int *counts = malloc(sizeof(int) * (size_t)size), *places = malloc(sizeof(int) * (size_t)size);
    for (int r = 0; r < size; ++r) counts[r] = n, places[r] = (size - 1 - r) * n;  // not in the ranks' order
    for (int i = 0; i < n * size; ++i) mine[i] = 1000 * rank + n;

    const int root = n % size;
    MPI_Gatherv(mine, n, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; rank == root && i < n * size; ++i) REQUIRE(all[i] == 1000 * (size - 1 - i / n) + n);
    MPI_Allgatherv(mine, n, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * size; ++i) REQUIRE(all[i] == 1000 * (size - 1 - i / n) + n);
    MPI_Alltoallv(mine, counts, places, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * size; ++i) REQUIRE(all[i] == 1000 * (size - 1 - i / n) + n);
    MPI_Scatterv(mine, counts, places, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) REQUIRE(all[i] == 1000 * root + n);
    free(mine), free(all), free(counts), free(places);
}

static void at_exit(void) {
    for (int n = 201; n < 240; ++n) all_kinds(n);
    done();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    atexit(at_exit);
    for (int n = 1; n < 40; ++n) all_kinds(n);
    return 0;
}

// Rank 1 enters so many seconds late.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
    for (int i = 0; i < 40; ++i) checked_allreduce(MPI_COMM_WORLD, i, 10);
    if (rank == 1) sleep(seconds);
    checked_allreduce(MPI_COMM_WORLD, 7, 100);
    MPI_Barrier(MPI_COMM_WORLD);
    checked_allreduce(MPI_COMM_WORLD, 8, 20000);
    return done();
}

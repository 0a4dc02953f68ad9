// A well-behaved program: 100 allreduces and 50 broadcasts of all sizes; for runs in a bad place.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    static const int n[] = {1, 12, 13, 1000, 16384, 100001};
    for (int i = 0; i < 100; ++i) checked_allreduce(MPI_COMM_WORLD, i, n[i % 6]);
    int *data = malloc(100001 * sizeof(int));
    for (int i = 0; i < 50; ++i) {
        for (int k = 0; k < n[i % 6]; ++k) data[k] = rank == i % size ? k + i : -1;
        MPI_Bcast(data, n[i % 6], MPI_INT, i % size, MPI_COMM_WORLD);
        for (int k = 0; k < n[i % 6]; ++k) REQUIRE(data[k] == k + i);
    }
    free(data);
    return done();
}

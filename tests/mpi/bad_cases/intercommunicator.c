// Collectives of an intercommunicator go to the MPI library unchanged.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int side = rank % 2, remote_size = side ? (size + 1) / 2 : size / 2;
    MPI_Comm half, inter, merged;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !side, 5, &inter);
    for (int i = 0; i < 40; ++i) {
        int one = 1 + side, sum = -1, root = -1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
        REQUIRE(sum == remote_size * (2 - side));
        int value = rank == 0 ? 42 + i : -1;
        root = side ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Bcast(&value, 1, MPI_INT, root, inter);
        REQUIRE(value == (side || rank == 0 ? 42 + i : -1));
        int all[64];
        MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter);
        for (int r = 0; r < remote_size; ++r) REQUIRE(all[r] == 2 * r + !side);
        MPI_Barrier(inter);
        checked_allreduce(half, i, 9);
    }
    MPI_Intercomm_merge(inter, side, &merged);
    for (int i = 0; i < 40; ++i) checked_allreduce(merged, i, 9);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return done();
}

// A rank waits in a collective while its peer reaches into its memory: lock, put, accumulate,
// unlock, for which an MPI library may need the waiting rank's help.  The peer enters then.
#include "case.h"

enum { N = 5000 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < 40; ++i) checked_allreduce(MPI_COMM_WORLD, i, 10);
    int *memory = calloc(N, sizeof(int)), *data = malloc(N * sizeof(int));
    MPI_Win window;
    MPI_Win_create(memory, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int turn = 0; turn < 30; ++turn) {
        const int target = turn % size;
        if (rank != target) {
            usleep(turn % 3 ? 0 : 20000);
            for (int i = 0; i < N; ++i) data[i] = 1;
            MPI_Win_lock(turn % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, window);
            MPI_Accumulate(data, N, MPI_INT, target, 0, N, MPI_INT, MPI_SUM, window);
            MPI_Win_flush(target, window);
            int before = -1, one = 0;
            MPI_Fetch_and_op(&one, &before, MPI_INT, target, 0, MPI_SUM, window);
            MPI_Win_unlock(target, window);
            REQUIRE(before > 0);
        }
        if (turn % 2) MPI_Barrier(MPI_COMM_WORLD);
        else checked_allreduce(MPI_COMM_WORLD, turn, 9);
        if (rank == target) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
            for (int i = 0; i < N; ++i) REQUIRE(memory[i] == size - 1);
            memset(memory, 0, N * sizeof(int));
            MPI_Win_unlock(target, window);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    return done();
}

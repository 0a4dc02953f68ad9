// Some of each kind of collective on three communicators of all ranks, in turn.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm all[3] = {MPI_COMM_WORLD};
    MPI_Comm_dup(MPI_COMM_WORLD, &all[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &all[2]);
    enum { longest = 700 };
    int *const out = malloc(sizeof(int) * longest * (size_t)size), *const in = malloc(sizeof(int) * longest * (size_t)size);
    for (int turn = 0; turn < (size > 100 ? 2 : 3); ++turn)
        for (int c = 0; c < 3; ++c) {
            const int length = turn == 1 ? longest : 1 + turn, root = (turn * 7) % size, me = c < 2 ? rank : size - 1 - rank;
            checked_allreduce(all[c], turn, length);
            MPI_Barrier(all[c]);
            for (int i = 0; i < length; ++i) out[i] = me == root ? i + turn : -1;
            MPI_Bcast(out, length, MPI_INT, root, all[c]);
            for (int i = 0; i < length; ++i) REQUIRE(out[i] == i + turn);
            for (int r = 0; r < size; ++r) in[r] = me * 1000 + r + turn;
            MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, all[c]);
            for (int r = 0; r < size; ++r) REQUIRE(out[r] == r * 1000 + me + turn);
            MPI_Gather(&me, 1, MPI_INT, out, 1, MPI_INT, root, all[c]);
            for (int r = 0; r < size && me == root; ++r) REQUIRE(out[r] == r);
        }
    MPI_Comm_free(&all[1]);
    MPI_Comm_free(&all[2]);
    free(in);
    free(out);
    return done();
}

// Some of each kind of collective on three communicators of all ranks, in turn; then persistent ones of each.
#include "case.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
enum { kinds = 3, comms = 3 };

static void persistent(MPI_Comm all[comms]) {
    MPI_Request request[comms][kinds];
    int in[comms], sum[comms], *list[comms];
    for (int c = 0; c < comms; ++c) {
        list[c] = malloc(sizeof(int) * (size_t)size);
        MPI_Allreduce_init(&in[c], &sum[c], 1, MPI_INT, MPI_SUM, all[c], MPI_INFO_NULL, &request[c][0]);
        MPI_Allgather_init(&in[c], 1, MPI_INT, list[c], 1, MPI_INT, all[c], MPI_INFO_NULL, &request[c][1]);
        MPI_Barrier_init(all[c], MPI_INFO_NULL, &request[c][2]);
    }
    for (int turn = 0; turn < 3; ++turn)
        for (int c = 0; c < comms; ++c) {
            const int me = c < 2 ? rank : size - 1 - rank;
            in[c] = me * 10 + turn;
            // In an order of its own.
            for (int k = 0; k < kinds; ++k) MPI_Start(&request[c][(k + rank) % kinds]);
            MPI_Waitall(kinds, request[c], MPI_STATUSES_IGNORE);
            REQUIRE(sum[c] == size * (size - 1) / 2 * 10 + size * turn);
            for (int r = 0; r < size; ++r) REQUIRE(list[c][r] == r * 10 + turn);
        }
    // The next ones have the memory of those that are freed, where it suffices.
    for (int c = 0; c < comms; ++c) {
        for (int k = 0; k < kinds; ++k) MPI_Request_free(&request[c][k]);
        free(list[c]);
        MPI_Request again;
        const int root = size / 2;
        int value = -1;
        MPI_Bcast_init(&value, 1, MPI_INT, root, all[c], MPI_INFO_NULL, &again);
        int me;
        MPI_Comm_rank(all[c], &me);
        for (int turn = 0; turn < 3; ++turn) {
            value = me == root ? 7 + turn : -1;
            MPI_Start(&again);
            MPI_Wait(&again, MPI_STATUS_IGNORE);
            REQUIRE(value == 7 + turn);
        }
        MPI_Request_free(&again);
    }
}
#else
static void persistent(MPI_Comm all[3]) { (void)all; }
#endif

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
    persistent(all);
    MPI_Comm_free(&all[1]);
    MPI_Comm_free(&all[2]);
    free(in);
    free(out);
    return done();
}

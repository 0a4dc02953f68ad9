// A rank waits in a collective while it owes its peer the rest of a large send: the peer
// receives first and enters then.
#include "case.h"

enum { N = 1 << 20 };  // 4 MiB

static void enter(int which) {
    int value = 5;
    if (which == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (which == 1) checked_allreduce(MPI_COMM_WORLD, 3, 8);
    if (which == 2) checked_allreduce(MPI_COMM_WORLD, 3, 50000);
    if (which == 3) MPI_Bcast(&value, 1, MPI_INT, 1 % size, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < 40; ++i) checked_allreduce(MPI_COMM_WORLD, i, 10);
    int *data = malloc(N * sizeof(int));
    for (int turn = 0; turn < 8; ++turn) {
        const int debtor = turn / 4 % size, peer = (debtor + 1) % size;
        for (int i = 0; i < N; ++i) data[i] = rank == debtor ? i ^ turn : -1;
        MPI_Request request;
        if (rank == debtor) {
            MPI_Isend(data, N, MPI_INT, peer, turn, MPI_COMM_WORLD, &request);
            if (size == 1) MPI_Recv(malloc(N * 4), N, MPI_INT, 0, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            enter(turn % 4);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            if (rank == peer) {
                usleep(20000);
                MPI_Recv(data, N, MPI_INT, debtor, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (int i = 0; i < N; ++i) REQUIRE(data[i] == (i ^ turn));
            }
            enter(turn % 4);
        }
    }
    return done();
}

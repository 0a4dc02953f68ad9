// A rank waits in a collective while it owes its peer the rest of a large send: the peer
// receives first and enters then.
//
//   owed_send last [persistent]   rank 0 owes it to rank 2, which is in MPI_Recv, and calls collectives with rank 1, in
//                                 which it is always the last and never waits
#include "case.h"

enum { N = 1 << 20 };  // 4 MiB

static void enter(int which) {
    int value = 5;
    if (which == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (which == 1) checked_allreduce(MPI_COMM_WORLD, 3, 8);
    if (which == 2) checked_allreduce(MPI_COMM_WORLD, 3, 50000);
    if (which == 3) MPI_Bcast(&value, 1, MPI_INT, 1 % size, MPI_COMM_WORLD);
}

static void always_last(int persistent) {
    enum { N = 1 << 18 };
    MPI_Comm pair;
    MPI_Win window;
    MPI_Request request, init = MPI_REQUEST_NULL;
    int *data = malloc(N * sizeof(int)), token = 0, over = 0, all = 0;
    long *mine, *entered;  // how many calls rank 1 has come to
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, 0, &pair);
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    MPI_Win_shared_query(window, 1, &(MPI_Aint){0}, &(int){0}, &entered);
    *mine = 0;
    for (int i = 0; i < 40; ++i) checked_allreduce(pair, i, 1);
    for (int i = 0; i < N; ++i) data[i] = rank == 0 ? i : -1;
#if MPI_VERSION >= 4
    if (persistent) MPI_Allreduce_init(&over, &all, 1, MPI_INT, MPI_MAX, pair, MPI_INFO_NULL, &init);
#endif
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Recv(data, N, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&token, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        for (int i = 0; i < N; ++i) REQUIRE(data[i] == i);
    } else {
        if (rank == 0) MPI_Isend(data, N, MPI_INT, 2, 1, MPI_COMM_WORLD, &request);
        for (long call = 1; !all; ++call) {
            if (rank == 1) {
                MPI_Iprobe(2, 2, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
                __atomic_store_n(entered, call, __ATOMIC_RELEASE);
            }
            while (rank == 0 && __atomic_load_n(entered, __ATOMIC_ACQUIRE) < call) usleep(0);
            for (volatile int i = 0; rank == 0 && i < 5000; ++i) {}
            if (!persistent) MPI_Allreduce(&over, &all, 1, MPI_INT, MPI_MAX, pair);
            else MPI_Start(&init), MPI_Wait(&init, MPI_STATUS_IGNORE);
            if (call == 60000) all = 2;  // twice as many as it takes
        }
        REQUIRE(all == 1);
        if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
        else MPI_Recv(&token, 1, MPI_INT, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (persistent) MPI_Request_free(&init);
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&pair);
    free(data);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (argc > 1) {
        REQUIRE(size == 3 && !strcmp(argv[1], "last"));
        always_last(argc > 2);
        return done();
    }
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

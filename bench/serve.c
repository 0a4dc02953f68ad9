// How long it takes to begin to serve a communicator, in ms, the longest time of any rank: its first two collective
// calls, in the second of which that happens, and the least of the calls after that.  Without the preload: the MPI
// library's own.
//
//   FANLIGHT_START_AFTER=0 mpiexec -n 128 ... fanlight-bench-serve-mpich
#include <mpi.h>
#include <stdio.h>

// Without a collective.
static void synchronize(int rank, int size)
{
    for (int distance = 1; distance < size; distance *= 2)
        MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + distance) % size, 1, NULL, 0, MPI_BYTE, (rank - distance + size) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double call_ms(MPI_Comm comm, int rank, int size)
{
    const double mine = rank;
    double sum = 0;
    synchronize(rank, size);
    const double begin = MPI_Wtime();
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    const double ms = 1e3 * (MPI_Wtime() - begin);
    if (sum != size * (size - 1) / 2.0) MPI_Abort(comm, 1);
    return ms;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    enum { FIRST, SECOND, LATER, KINDS, COMMUNICATORS = 2, CALLS = 12 };
    double mine[COMMUNICATORS][KINDS], most[COMMUNICATORS][KINDS];
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int c = 0; c < COMMUNICATORS; ++c) {
        if (c > 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < CALLS; ++i) {
            const double ms = call_ms(comm, rank, size);
            const int kind = i < LATER ? i : LATER;
            if (i <= LATER || ms < mine[c][kind]) mine[c][kind] = ms;
        }
    }
    MPI_Reduce(mine, most, COMMUNICATORS * KINDS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int c = 0; rank == 0 && c < COMMUNICATORS; ++c)
        printf("%d ranks, communicator %d: %.1f ms, the next call %.1f, later ones %.1f\n", size, c + 1, most[c][FIRST], most[c][SECOND], most[c][LATER]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}

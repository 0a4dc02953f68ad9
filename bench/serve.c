// How long it takes to serve a communicator: its first collective call, in ms, the longest time of any rank; and for
// comparison the second one.  Without the preload: the MPI library's own.
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
    double mine[4], most[4];
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int c = 0; c < 2; ++c) {
        if (c == 1) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < 2; ++i) mine[2 * c + i] = call_ms(comm, rank, size);
    }
    MPI_Reduce(mine, most, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: first communicator %.1f ms (next call %.2f), another one %.1f ms (%.2f)\n", size, most[0], most[1], most[2], most[3]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}

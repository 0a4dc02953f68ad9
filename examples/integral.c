// Integrates 4 / (1 + x^2) from 0 to 1, which is pi: each rank a share of the strips, the sums by
// fanlight_iallreduce, while the next, finer ones are computed.
//
//   mpicc integral.c -I$PREFIX/include -L$PREFIX/lib/fanlight -Wl,-rpath,$PREFIX/lib/fanlight -lfanlight-mpich
#include <fanlight/fanlight.h>
#include <math.h>
#include <stdio.h>

static double share(int rank, int size, int strips)
{
    double sum = 0;
    for (int i = rank; i < strips; i += size) {
        const double x = (i + 0.5) / strips;
        sum += 4 / (1 + x * x);
    }
    return sum / strips;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, strips = 1000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fanlight_prepare(MPI_COMM_WORLD); /* served from the first call on */

    double before = 0, pi = 0, mine = share(rank, size, strips);
    do {
        double sum, next;
        MPI_Request request;
        before = pi;
        fanlight_iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        next = share(rank, size, strips *= 2);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        pi = sum;
        mine = next;
    } while (fabs(pi - before) > 1e-12);

    if (rank == 0) printf("pi = %.10f\n", pi);
    MPI_Finalize();
    return 0;
}

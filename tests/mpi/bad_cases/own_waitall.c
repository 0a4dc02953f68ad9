// The program wraps a single one of MPI's functions of requests, as small profilers do: requests of Fanlight's, which
// PMPI_Waitall would wait for, must not exist.
#include "case.h"

static int waits;

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
    ++waits;
    return PMPI_Waitall(n, requests, statuses);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < 20; ++i) {
        int in = rank + i, out = -1;
        MPI_Request request;
        checked_allreduce(MPI_COMM_WORLD, i, 3);
        MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        if (i % 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
        else MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
        REQUIRE(out == size * (size - 1) / 2 + size * i);
    }
    REQUIRE(waits == 10);
    return done();
}

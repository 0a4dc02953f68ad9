// Communicators that the program leaves to MPI_Finalize, whose handles the ranks have in different orders.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm own[4], comms[4];
    for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
    for (int i = 0; i < 4; ++i) MPI_Comm_free(&own[rank % 2 ? i : 3 - i]);
    for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < 40; ++i) checked_allreduce(comms[i % 4], i, 10);
    return done();
}

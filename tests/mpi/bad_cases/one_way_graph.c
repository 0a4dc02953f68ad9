// MPI_Graph_create takes edges that one end alone names; no neighborhood collective may use them,
// but all others may.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int index[64], edges[1] = {1};
    for (int i = 0; i < size; ++i) index[i] = 1;  // rank 0 names rank 1, and nobody else anybody
    MPI_Comm comm;
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
    for (int i = 0; i < 40; ++i) checked_allreduce(comm, i, 3);
    MPI_Comm_free(&comm);
    return done();
}

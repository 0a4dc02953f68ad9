// A gather whose root has room for fewer elements than the others send: an error of the root's alone,
// in the call at which it comes; the collectives before and after it are right.
#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int before = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < before; ++i) checked_allreduce(comm, i, 3);
    int in[10] = {0}, *out = calloc((size_t)size, sizeof in);
    const int code = MPI_Gather(in, rank == 0 ? 1 : 10, MPI_INT, out, 1, MPI_INT, 0, comm);
    REQUIRE(rank != 0 || code != MPI_SUCCESS);
    for (int i = 0; i < 40; ++i) checked_allreduce(comm, i, 3);
    free(out);
    MPI_Comm_free(&comm);
    return done();
}

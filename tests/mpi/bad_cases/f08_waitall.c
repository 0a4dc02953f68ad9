// mpi_f08's MPI_Waitall of MPICH's descendants, called as Fortran does, with requests of Fanlight's and the MPI library's.
//
//   f08_waitall LIBRARY   of their Fortran functions
#include <dlfcn.h>

#include "case.h"

typedef void waitall_f08(const int *count, MPI_Request *, void *statuses, int *error);

int main(int argc, char **argv) {
    begin(&argc, &argv);
    void *const library = argc > 1 ? dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL) : NULL;
    REQUIRE(library);
    waitall_f08 *waitall = (waitall_f08 *)dlsym(RTLD_DEFAULT, "mpi_waitall_f08_");  // the preload's
    if (!waitall) waitall = (waitall_f08 *)dlsym(library, "mpi_waitall_f08_");
    void *const ignored = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
    REQUIRE(waitall && ignored);
#if MPI_VERSION >= 4
    MPI_Comm alone;
    MPI_Comm_dup(MPI_COMM_SELF, &alone);
    int in = rank, out = -1, one = 3, same = -1;
    MPI_Request requests[2], first;
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &first);
    MPI_Wait(&first, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; ++i) checked_allreduce(MPI_COMM_WORLD, i, 10);
    MPI_Allreduce_init(&one, &same, 1, MPI_INT, MPI_SUM, alone, MPI_INFO_NULL, &requests[0]);
    for (int turn = 0; turn < 6; ++turn) {
        const int two = 2;
        int error = -1;
        MPI_Status statuses[2], untouched;
        memcpy(&untouched, ignored, sizeof untouched);
        out = same = -1;
        MPI_Start(&requests[0]);
        if (rank == size - 1) usleep(10000);
        MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
        waitall(&two, requests, turn % 2 ? ignored : statuses, &error);
        REQUIRE(memcmp(&untouched, ignored, sizeof untouched) == 0);
        REQUIRE(error == MPI_SUCCESS && requests[0] != MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
        REQUIRE(out == size * (size - 1) / 2 && same == 3);
    }
    MPI_Request_free(&requests[0]);
    MPI_Comm_free(&alone);
#endif
    return done();
}

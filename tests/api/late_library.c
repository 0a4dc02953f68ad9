// Where the MPI library is linked before Fanlight, MPI_Wait is the MPI library's: it must get
// requests that it completes itself.
#include <fanlight/fanlight.h>

#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    REQUIRE(fanlight_prepare(MPI_COMM_WORLD) == MPI_SUCCESS);
    REQUIRE(fanlight_report(argc > 1 ? argv[1] : "-") == MPI_SUCCESS);
    for (int i = 0; i < 20; ++i) {
        int in = rank + i, out = -1, again = -1;
        MPI_Request request;
        REQUIRE(fanlight_iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        REQUIRE(fanlight_allreduce(&in, &again, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
        REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        REQUIRE(out == size * (size - 1) / 2 + size * i && again == out);
    }
    return done();
}

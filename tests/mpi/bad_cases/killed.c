// The last rank kills itself while the others are in collectives with it.
#include <signal.h>

#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int n = argc > 1 ? atoi(argv[1]) : 4;
    for (int i = 0; i < 100000; ++i) {
        if (i == 60 && rank == size - 1) {
            fprintf(stderr, "rank %d kills itself\n", rank);
            usleep(300000);  // the others are waiting by now
            raise(SIGKILL);
        }
        checked_allreduce(MPI_COMM_WORLD, i % 1000, n);
    }
    return done();
}

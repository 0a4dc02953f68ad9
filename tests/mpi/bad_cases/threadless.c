// Non-blocking and persistent collectives in a process that can start no thread (tools/no_threads.c): right results,
// and the signals that were blocked before are blocked after.
//
//   threadless [rank]   all of the ranks, or this one alone
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>

#include "case.h"

static void require_unblocked(int blocked) {
    sigset_t now;
    REQUIRE(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
    for (int s = 1; s < 32; ++s) REQUIRE(sigismember(&now, s) == (s == blocked));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int *const no_more_threads = dlsym(RTLD_DEFAULT, "no_more_threads");
    REQUIRE(no_more_threads);
    *no_more_threads = argc < 2 || rank == atoi(argv[1]);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    REQUIRE(sigprocmask(SIG_SETMASK, &one, NULL) == 0);
    for (int i = 0; i < 20; ++i) {
        int in = rank + i, out = -1;
        MPI_Request request;
        REQUIRE(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        REQUIRE(out == size * i + size * (size - 1) / 2);
        require_unblocked(SIGUSR2);
        checked_allreduce(MPI_COMM_WORLD, i, 3);
        require_unblocked(SIGUSR2);
    }
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    int in, out;
    MPI_Request request;
    MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 5; ++i) {
        in = rank + i, out = -1;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(out == size * i + size * (size - 1) / 2);
        require_unblocked(SIGUSR2);
    }
    MPI_Request_free(&request);
#endif
    return done();
}

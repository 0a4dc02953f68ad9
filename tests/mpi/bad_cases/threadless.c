// Non-blocking collectives in a process that can start no thread (tools/no_threads.c): right results,
// and the signals that were blocked before are blocked after.
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
    *no_more_threads = 1;
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
    return done();
}

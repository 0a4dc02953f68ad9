// A child made by fork while a non-blocking collective of its parent's is in flight: it takes no part in that,
// also where it calls what makes its parent's progress, and it ends through its exit handlers.
#include <sys/wait.h>

#include "case.h"

static int sum = 0;

// 7, where all is well.
static int child(int begin_to_poll) {
    char byte;
    if (read(begin_to_poll, &byte, 1) != 1) return 1;
    for (int i = 0; i < 100; ++i) {
        int flag = 0;
        MPI_Request_get_status(MPI_REQUEST_NULL, &flag, MPI_STATUS_IGNORE);
        if (!flag) return 2;
    }
    return sum == size ? 3 : 7;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int one = 1;
    int told = 0;
    MPI_Request request;
    for (int call = 0; call < 20; ++call) {
        checked_allreduce(MPI_COMM_WORLD, call, call % 2 ? 3 : 30000);
        MPI_Iallreduce(&one, &told, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(told == size);
    }
    if (rank != 0) MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 0) {
        int pipes[2], status = 0;
        REQUIRE(pipe(pipes) == 0);
        const pid_t pid = fork();
        REQUIRE(pid >= 0);
        if (pid == 0) exit(child(pipes[0]));
        // The others' part comes when the child has its copy of what is in flight, and before it polls.
        for (int r = 1; r < size; ++r) MPI_Send(NULL, 0, MPI_INT, r, 0, MPI_COMM_WORLD);
        for (int r = 1; r < size; ++r) MPI_Recv(NULL, 0, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(write(pipes[1], "", 1) == 1);
        REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        if (WEXITSTATUS(status) != 7) fprintf(stderr, "the child's exit code is %d\n", WEXITSTATUS(status));
        REQUIRE(WEXITSTATUS(status) == 7);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(sum == size);
    if (rank != 0) MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    for (int call = 0; call < 20; ++call) checked_allreduce(MPI_COMM_WORLD, call, 30000);
    return done();
}

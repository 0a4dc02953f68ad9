// Threads that come while collectives are in flight take none of the program's signals.
#include "case.h"
#include <dirent.h>
#include <signal.h>

// How many threads there are that may take this signal.
static int takers(int signal) {
    int number = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *thread; (thread = readdir(threads));) {
        char name[300], line[200];
        unsigned long long blocked = 0;
        snprintf(name, sizeof name, "/proc/self/task/%s/status", thread->d_name);
        FILE *status = thread->d_name[0] == '.' ? NULL : fopen(name, "r");
        if (!status) continue;
        while (fgets(line, sizeof line, status)) sscanf(line, "SigBlk: %llx", &blocked);
        fclose(status);
        number += !(blocked >> (signal - 1) & 1);
    }
    closedir(threads);
    return number;
}

int main(int argc, char **argv) {
    int in = 1, sum = 0;
    begin(&argc, &argv);
    const int before = takers(SIGUSR1);
    MPI_Request request;
    for (int call = 0; call < 2; ++call) {
        MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        REQUIRE(takers(SIGUSR1) == before);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(sum == size);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    sigset_t blocked;
    sigemptyset(&blocked);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    REQUIRE(!sigismember(&blocked, SIGUSR1));
    return done();
}

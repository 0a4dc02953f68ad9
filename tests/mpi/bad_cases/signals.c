// Threads that come while collectives are in flight take none of the program's signals.
#include "case.h"
#include <dirent.h>
#include <signal.h>

enum { at_most = 1000 };

// The threads of this process. One that the MPI library has just begun may not take signals yet.
static int threads_now(long *threads) {
    int number = 0;
    DIR *directory = opendir("/proc/self/task");
    for (struct dirent *thread; (thread = readdir(directory)) && number < at_most;)
        if (thread->d_name[0] != '.') threads[number++] = atol(thread->d_name);
    closedir(directory);
    return number;
}

static int takes(long thread, int signal) {
    char name[100], line[200];
    unsigned long long blocked = ~0ull;
    snprintf(name, sizeof name, "/proc/self/task/%ld/status", thread);
    FILE *status = fopen(name, "r");
    if (!status) return 0;  // it has ended
    while (fgets(line, sizeof line, status)) sscanf(line, "SigBlk: %llx", &blocked);
    fclose(status);
    return !(blocked >> (signal - 1) & 1);
}

// How many threads that were not there before may take this signal.
static int new_takers(const long *before, int number_before, int signal) {
    long now[at_most];
    const int number = threads_now(now);
    int takers = 0;
    for (int i = 0; i < number; ++i) {
        int is_new = 1;
        for (int b = 0; b < number_before; ++b) is_new = is_new && now[i] != before[b];
        takers += is_new && takes(now[i], signal);
    }
    return takers;
}

int main(int argc, char **argv) {
    int in = 1, sum = 0;
    begin(&argc, &argv);
    long before[at_most];
    const int number_before = threads_now(before);
    MPI_Request request;
    for (int call = 0; call < 2; ++call) {
        MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        REQUIRE(new_takers(before, number_before, SIGUSR1) == 0);
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

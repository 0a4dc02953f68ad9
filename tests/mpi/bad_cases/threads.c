// MPI_THREAD_MULTIPLE: a communicator for each thread, all in collectives at once; one thread
// makes and frees communicators meanwhile.
#include <pthread.h>

#include "case.h"

enum { THREADS = 3 };
static MPI_Comm comms[THREADS + 1];

static void *work(void *at) {
    const int t = (int)(long)at;
    for (int i = 0; i < 100; ++i) {
        checked_allreduce(comms[t], 1000 * t + i, 1 + 7 * t);
        if (i % 10 == 0) checked_allreduce(comms[t], i, 30000);
        MPI_Barrier(comms[t]);
        int told = rank == i % size ? 100 * t + i : -1;
        MPI_Bcast(&told, 1, MPI_INT, i % size, comms[t]);
        REQUIRE(told == 100 * t + i);
    }
    return NULL;
}

static void *make(void *unused) {
    (void)unused;
    for (int i = 0; i < 30; ++i) {
        MPI_Comm comm;
        MPI_Comm_dup(comms[THREADS], &comm);
        for (int j = 0; j < 4; ++j) checked_allreduce(comm, j, 5);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (!begin_with_threads(&argc, &argv)) return 0;
    for (int t = 0; t <= THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    pthread_t threads[THREADS + 1];
    for (long t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void *)t);
    pthread_create(&threads[THREADS], NULL, make, NULL);
    for (int t = 0; t <= THREADS; ++t) pthread_join(threads[t], NULL);
    for (int t = 0; t <= THREADS; ++t) MPI_Comm_free(&comms[t]);
    return done();
}

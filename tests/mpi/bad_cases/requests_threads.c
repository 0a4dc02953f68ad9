// MPI_THREAD_MULTIPLE: threads start and wait for non-blocking collectives at once, each on a
// communicator of its own; a request of one thread may be finished by another one's waiting.
#include <pthread.h>

#include "case.h"

enum { THREADS = 3, AT_ONCE = 6 };
static MPI_Comm comms[THREADS];

static void *work(void *at) {
    const int t = (int)(long)at;
    MPI_Request requests[AT_ONCE];
    int in[AT_ONCE], out[AT_ONCE], told;
    for (int i = 0; i < 100; ++i) {
        for (int k = 0; k < AT_ONCE - 2; ++k) {
            in[k] = rank * (i + k) + t;
            MPI_Iallreduce(&in[k], &out[k], 1, MPI_INT, MPI_SUM, comms[t], &requests[k]);
        }
        told = rank == i % size ? 100 * t + i : -1;
        MPI_Ibcast(&told, 1, MPI_INT, i % size, comms[t], &requests[AT_ONCE - 2]);
        MPI_Ibarrier(comms[t], &requests[AT_ONCE - 1]);
        if (i % 2) {
            MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
        } else {
            for (int k = AT_ONCE - 1; k >= 0; --k) MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        }
        REQUIRE(told == 100 * t + i);
        for (int k = 0; k < AT_ONCE - 2; ++k) REQUIRE(out[k] == size * (size - 1) / 2 * (i + k) + size * t);
        if (i % 10 == 0) checked_allreduce(comms[t], i, 100);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (!begin_with_threads(&argc, &argv)) return 0;
    for (int t = 0; t < THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; ++t) MPI_Comm_free(&comms[t]);
    return done();
}

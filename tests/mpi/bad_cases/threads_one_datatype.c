// MPI_THREAD_MULTIPLE: threads with a communicator each that use a new derived datatype for the first
// time, at the same time.
#include <pthread.h>
#include <stddef.h>

#include "case.h"

enum { THREADS = 4, ROUNDS = 300, COUNT = 20 };
struct element {
    double a;
    int b;
};
static MPI_Comm comms[THREADS];
static MPI_Datatype datatypes[ROUNDS];
static pthread_barrier_t together;

static void *work(void *at) {
    const int t = (int)(long)at;
    for (int i = 0; i < ROUNDS; ++i) {
        struct element all[COUNT];
        memset(all, 0, sizeof all);
        for (int k = 0; k < COUNT; ++k)
            if (rank == i % size) all[k].a = 100 * t + k, all[k].b = i + k;
        pthread_barrier_wait(&together);
        for (int again = 0; again < 2; ++again) REQUIRE(MPI_Bcast(all, COUNT, datatypes[i], i % size, comms[t]) == MPI_SUCCESS);
        for (int k = 0; k < COUNT; ++k) REQUIRE(all[k].a == 100 * t + k && all[k].b == i + k);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (!begin_with_threads(&argc, &argv)) return 0;
    for (int t = 0; t < THREADS; ++t) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
        for (int i = 0; i < 3; ++i) MPI_Barrier(comms[t]);  // served from here on
    }
    MPI_Datatype plain;
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {offsetof(struct element, a), offsetof(struct element, b)};
    const MPI_Datatype kinds[] = {MPI_DOUBLE, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, kinds, &plain);
    for (int i = 0; i < ROUNDS; ++i) {
        MPI_Type_create_resized(plain, 0, sizeof(struct element), &datatypes[i]);
        MPI_Type_commit(&datatypes[i]);
    }
    pthread_barrier_init(&together, NULL, THREADS);
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    for (int i = 0; i < ROUNDS; ++i) MPI_Type_free(&datatypes[i]);
    MPI_Type_free(&plain);
    for (int t = 0; t < THREADS; ++t) MPI_Comm_free(&comms[t]);
    return done();
}

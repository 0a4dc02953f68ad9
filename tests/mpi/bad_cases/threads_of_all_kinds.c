// MPI_THREAD_MULTIPLE, also under ThreadSanitizer: threads with a communicator each use all kinds of
// collectives at the same time: blocking, non-blocking and persistent ones, with datatypes and operators
// that another thread uses for the first time as well, on communicators that are made and freed meanwhile.
#include <pthread.h>

#include "case.h"

enum { THREADS = 3, ROUNDS = 12, COUNT = 50 };
static MPI_Comm comms[THREADS];
static MPI_Datatype every_second[ROUNDS];
static MPI_Op last_bits;

static void add_last_bits(void *in, void *both, int *n, MPI_Datatype *datatype) {
    (void)datatype;
    for (int i = 0; i < *n; ++i) ((int *)both)[i] = (((int *)both)[i] + ((int *)in)[i]) & 0xffff;
}

static void blocking(MPI_Comm comm, int call, MPI_Datatype datatype) {
    int told[2 * COUNT], all[8 * COUNT], mine[COUNT];
    checked_allreduce(comm, call, 3);
    checked_allreduce(comm, call, 5000);
    MPI_Barrier(comm);
    for (int i = 0; i < 2 * COUNT; ++i) told[i] = rank == call % size || i % 2 ? i + call : -1;
    MPI_Bcast(told, 1, datatype, call % size, comm);
    for (int i = 0; i < 2 * COUNT; ++i) REQUIRE(told[i] == i + call);
    for (int i = 0; i < COUNT; ++i) mine[i] = rank * i + call;
    MPI_Allgather(mine, COUNT, MPI_INT, all, COUNT, MPI_INT, comm);
    for (int r = 0; r < size; ++r) REQUIRE(all[r * COUNT + 7] == r * 7 + call);
    MPI_Allreduce(mine, all, COUNT, MPI_INT, last_bits, comm);
    for (int i = 0; i < COUNT; ++i) REQUIRE(all[i] == ((size * (size - 1) / 2 * i + size * call) & 0xffff));
}

static void non_blocking(MPI_Comm comm, int call, MPI_Datatype datatype) {
    MPI_Request requests[4];
    int told[2 * COUNT], in[2] = {rank + call, 2 * rank + call}, out[2];
    for (int i = 0; i < 2 * COUNT; ++i) told[i] = rank == 0 || i % 2 ? i + call : -1;
    MPI_Iallreduce(&in[0], &out[0], 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibcast(told, 1, datatype, 0, comm, &requests[1]);
    MPI_Ibarrier(comm, &requests[2]);
    MPI_Iallreduce(&in[1], &out[1], 1, MPI_INT, last_bits, comm, &requests[3]);
    if (call % 2) {
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    } else {
        for (int k = 3; k >= 0; --k)
            for (int done = 0; !done;) MPI_Test(&requests[k], &done, MPI_STATUS_IGNORE);
    }
    REQUIRE(out[0] == size * (size - 1) / 2 + size * call);
    REQUIRE(out[1] == ((size * (size - 1) + size * call) & 0xffff));
    for (int i = 0; i < 2 * COUNT; ++i) REQUIRE(told[i] == i + call);
}

static void persistent(MPI_Comm comm, int call, MPI_Datatype datatype) {
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    MPI_Request requests[2];
    int told[2 * COUNT], in = 0, out;
    MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(told, 1, datatype, 0, comm, MPI_INFO_NULL, &requests[1]);
    for (int again = 0; again < 3; ++again) {
        in = rank + call + again;
        for (int i = 0; i < 2 * COUNT; ++i) told[i] = rank == 0 || i % 2 ? i + in - rank : -1;
        MPI_Startall(2, requests);
        if (again) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        REQUIRE(out == size * (size - 1) / 2 + size * (call + again));
        for (int i = 0; i < 2 * COUNT; ++i) REQUIRE(told[i] == i + call + again);
    }
    for (int k = 0; k < 2; ++k) MPI_Request_free(&requests[k]);
#else
    (void)comm, (void)call, (void)datatype;
#endif
}

static void *work(void *at) {
    const int t = (int)(long)at;
    void (*const kinds[])(MPI_Comm, int, MPI_Datatype) = {blocking, non_blocking, persistent};
    for (int i = 0; i < ROUNDS; ++i) {
        const int call = 10 * i + t;
        MPI_Comm comm;
        MPI_Comm_dup(comms[t], &comm);
        // Each thread begins with another kind.
        for (int k = 0; k < 3; ++k) kinds[(t + k) % 3](comms[t], call, every_second[i]);
        // Served from the second time on: the ranks agree in a blocking call.
        for (int again = 0; again < 3; ++again) {
            kinds[(t + i) % 3](comm, call, every_second[i]);
            MPI_Barrier(comm);
        }
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (!begin_with_threads(&argc, &argv)) return 0;
    REQUIRE(size <= 8);
    MPI_Op_create(add_last_bits, 1, &last_bits);
    for (int i = 0; i < ROUNDS; ++i) {
        MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_second[i]);
        MPI_Type_commit(&every_second[i]);
    }
    for (int t = 0; t < THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; ++t) MPI_Comm_free(&comms[t]);
    for (int i = 0; i < ROUNDS; ++i) MPI_Type_free(&every_second[i]);
    MPI_Op_free(&last_bits);
    return done();
}

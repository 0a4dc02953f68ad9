// A delete function of the program's that calls collectives, from MPI_Comm_free and from MPI_Finalize; and
// threads that do so while others see communicators, datatypes and persistent operations for the first time.
#include <pthread.h>

#include "case.h"

enum { THREADS = 3, TURNS = 20 };
static MPI_Comm comms[THREADS + 1];
static int key, called;

static void all_kinds(MPI_Comm comm, int call) {
    checked_allreduce(comm, call, 9);
    MPI_Datatype pair;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int told[4] = {call, 0, call + 1, 0};
    REQUIRE(MPI_Bcast(told, 1, pair, 0, comm) == MPI_SUCCESS && told[2] == call + 1);
    MPI_Type_free(&pair);
    int in = call, out = -1, s;
    MPI_Comm_size(comm, &s);
    MPI_Request request;
    REQUIRE(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    REQUIRE(out == s * call);
#if MPI_VERSION >= 4
    REQUIRE(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request) == MPI_SUCCESS);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#endif
}

static int deleted(MPI_Comm comm, int k, void *other, void *unused) {
    (void)comm, (void)k, (void)unused;
    ++called;
    all_kinds(*(MPI_Comm *)other, called);
    return MPI_SUCCESS;
}

static void *work(void *at) {
    MPI_Comm *mine = &comms[(long)at];
    for (int i = 0; i < TURNS; ++i) {
        MPI_Comm comm;
        MPI_Comm_dup(*mine, &comm);
        all_kinds(comm, i);
        MPI_Comm_free(&comm);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static MPI_Comm world = MPI_COMM_WORLD;
    int before, after;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &before, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &after, NULL);
    // MPI_Finalize deletes in the opposite order: one comes before Fanlight's own end, one behind it.
    MPI_Comm_set_attr(MPI_COMM_SELF, before, &world);
    for (int t = 0; t <= THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    pthread_t threads[THREADS];
    const int several = provided == MPI_THREAD_MULTIPLE;
    for (long t = 0; several && t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void *)t);
    for (int i = 0; i < TURNS; ++i) {
        MPI_Comm comm;
        MPI_Comm_dup(comms[THREADS], &comm);
        MPI_Comm_set_attr(comm, key, &comms[THREADS]);
        all_kinds(comm, i);
        MPI_Comm_free(&comm);
    }
    REQUIRE(called == TURNS);
    for (int t = 0; several && t < THREADS; ++t) pthread_join(threads[t], NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, after, &world);
    for (int t = 0; t <= THREADS; ++t) MPI_Comm_free(&comms[t]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    REQUIRE(called == TURNS + 2);
    if (rank == 0) printf("ok\n");
    return 0;
}

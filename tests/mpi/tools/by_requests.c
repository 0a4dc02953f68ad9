// A library to be preloaded before Fanlight's: every blocking collective becomes the non-blocking
// one and a wait for its request, so that the program `collectives` tests those as well.  With
// BY_REQUESTS=persistent it becomes a persistent one that is started once.
//
// Each communicator's second call is preceded by a barrier: Fanlight meets for the non-blocking
// ones in a blocking one alone.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

// MPI_Barrier may be a macro (tests/api).
#define TEXT(name) #name
#define NAME(name) TEXT(name)

static int forget(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)extra;
    free(value);
    return MPI_SUCCESS;
}

static void begin(MPI_Comm comm) {
    static int key = MPI_KEYVAL_INVALID;
    static int (*barrier)(MPI_Comm);
    if (!barrier) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
        *(void **)&barrier = dlsym(RTLD_NEXT, NAME(MPI_Barrier));
    }
    int *calls, found;
    MPI_Comm_get_attr(comm, key, &calls, &found);
    if (!found) MPI_Comm_set_attr(comm, key, calls = calloc(1, sizeof *calls));
    if (++*calls == 2) barrier(comm);
}

static int persistent(void) {
    const char *how = getenv("BY_REQUESTS");
    return how && how[0] == 'p';
}

// In one of the ways in which a program learns that it is over.
static int end(MPI_Request request) {
    static unsigned turn;
    MPI_Request several[3] = {MPI_REQUEST_NULL, request, MPI_REQUEST_NULL};
    int flag = 0, index, error = MPI_SUCCESS;
    // MPICH 5.0.2's own MPI_Testall fails on persistent collectives.
    switch (turn++ % (persistent() ? 4 : 5)) {
        case 0: return MPI_Wait(&request, MPI_STATUS_IGNORE);
        case 1:
            while (!flag && error == MPI_SUCCESS) error = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            return error;
        case 2: return MPI_Waitall(3, several, MPI_STATUSES_IGNORE);
        case 3: return MPI_Waitany(3, several, &index, MPI_STATUS_IGNORE);
        default:
            while (!flag && error == MPI_SUCCESS) error = MPI_Testall(3, several, &flag, MPI_STATUSES_IGNORE);
            return error;
    }
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define RUN_PERSISTENT(init, ...)                                           \
    if (persistent()) {                                                     \
        int error = init(__VA_ARGS__, MPI_INFO_NULL, &request);             \
        if (error == MPI_SUCCESS) error = MPI_Start(&request);              \
        if (error == MPI_SUCCESS) error = end(request);                     \
        if (error == MPI_SUCCESS) error = MPI_Request_free(&request);       \
        return error;                                                       \
    }
#else
#define RUN_PERSISTENT(init, ...)
#endif

#define BY_REQUEST(blocking, started, init, parameters, ...)                \
    int blocking parameters {                                               \
        MPI_Request request;                                                \
        begin(comm);                                                        \
        RUN_PERSISTENT(init, __VA_ARGS__)                                   \
        const int error = started(__VA_ARGS__, &request);                   \
        return error == MPI_SUCCESS ? end(request) : error;                 \
    }

#define ALL(_, COUNT, DISPL)                                                                                          \
    BY_REQUEST(MPI_Bcast##_, MPI_Ibcast##_, MPI_Bcast_init##_, (void *b, COUNT n, MPI_Datatype t, int root, MPI_Comm comm), b, n, t, root, comm) \
    BY_REQUEST(MPI_Reduce##_, MPI_Ireduce##_, MPI_Reduce_init##_,                                                                         \
               (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm), s, r, n, t, op, root, comm) \
    BY_REQUEST(MPI_Allreduce##_, MPI_Iallreduce##_, MPI_Allreduce_init##_,                                                                   \
               (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)     \
    BY_REQUEST(MPI_Scan##_, MPI_Iscan##_, MPI_Scan_init##_,                                                                             \
               (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)     \
    BY_REQUEST(MPI_Exscan##_, MPI_Iexscan##_, MPI_Exscan_init##_,                                                                         \
               (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)     \
    BY_REQUEST(MPI_Reduce_scatter_block##_, MPI_Ireduce_scatter_block##_, MPI_Reduce_scatter_block_init##_,                                             \
               (const void *s, void *r, COUNT n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)     \
    BY_REQUEST(MPI_Reduce_scatter##_, MPI_Ireduce_scatter##_, MPI_Reduce_scatter_init##_,                                                         \
               (const void *s, void *r, const COUNT *n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), s, r, n, t, op, comm)     \
    BY_REQUEST(MPI_Allgather##_, MPI_Iallgather##_, MPI_Allgather_init##_,                                                                   \
               (const void *s, COUNT sn, MPI_Datatype st, void *r, COUNT rn, MPI_Datatype rt, MPI_Comm comm),         \
               s, sn, st, r, rn, rt, comm)                                                                            \
    BY_REQUEST(MPI_Alltoall##_, MPI_Ialltoall##_, MPI_Alltoall_init##_,                                                                     \
               (const void *s, COUNT sn, MPI_Datatype st, void *r, COUNT rn, MPI_Datatype rt, MPI_Comm comm),         \
               s, sn, st, r, rn, rt, comm)                                                                            \
    BY_REQUEST(MPI_Gather##_, MPI_Igather##_, MPI_Gather_init##_,                                                                         \
               (const void *s, COUNT sn, MPI_Datatype st, void *r, COUNT rn, MPI_Datatype rt, int root, MPI_Comm comm), \
               s, sn, st, r, rn, rt, root, comm)                                                                      \
    BY_REQUEST(MPI_Scatter##_, MPI_Iscatter##_, MPI_Scatter_init##_,                                                                       \
               (const void *s, COUNT sn, MPI_Datatype st, void *r, COUNT rn, MPI_Datatype rt, int root, MPI_Comm comm), \
               s, sn, st, r, rn, rt, root, comm)                                                                      \
    BY_REQUEST(MPI_Allgatherv##_, MPI_Iallgatherv##_, MPI_Allgatherv_init##_,                                                                 \
               (const void *s, COUNT sn, MPI_Datatype st, void *r, const COUNT *n, const DISPL *d, MPI_Datatype rt, MPI_Comm comm), \
               s, sn, st, r, n, d, rt, comm)                                                                          \
    BY_REQUEST(MPI_Gatherv##_, MPI_Igatherv##_, MPI_Gatherv_init##_,                                                                       \
               (const void *s, COUNT sn, MPI_Datatype st, void *r, const COUNT *n, const DISPL *d, MPI_Datatype rt, int root, MPI_Comm comm), \
               s, sn, st, r, n, d, rt, root, comm)                                                                    \
    BY_REQUEST(MPI_Scatterv##_, MPI_Iscatterv##_, MPI_Scatterv_init##_,                                                                     \
               (const void *s, const COUNT *n, const DISPL *d, MPI_Datatype st, void *r, COUNT rn, MPI_Datatype rt, int root, MPI_Comm comm), \
               s, n, d, st, r, rn, rt, root, comm)                                                                    \
    BY_REQUEST(MPI_Alltoallv##_, MPI_Ialltoallv##_, MPI_Alltoallv_init##_,                                            \
               (const void *s, const COUNT *sn, const DISPL *sd, MPI_Datatype st, void *r, const COUNT *n, const DISPL *d, MPI_Datatype rt, MPI_Comm comm), \
               s, sn, sd, st, r, n, d, rt, comm)                                                                      \
    BY_REQUEST(MPI_Alltoallw##_, MPI_Ialltoallw##_, MPI_Alltoallw_init##_,                                            \
               (const void *s, const COUNT *sn, const DISPL *sd, const MPI_Datatype *st, void *r, const COUNT *n, const DISPL *d, const MPI_Datatype *rt, MPI_Comm comm), \
               s, sn, sd, st, r, n, d, rt, comm)

ALL(, int, int)
BY_REQUEST(MPI_Barrier, MPI_Ibarrier, MPI_Barrier_init, (MPI_Comm comm), comm)
#if MPI_VERSION >= 4
ALL(_c, MPI_Count, MPI_Aint)
#endif

// Invalid arguments under MPI_ERRORS_RETURN: prints the error class of each call on each rank, for the
// comparison of runs with and without Fanlight; then the same by an error handler of the user.
// Every case is wrong on all ranks alike and found before anything is sent.
#include "case.h"

// MPICH 5.0.2 does not look at count and datatype of reductions, and crashes.
#if defined OPEN_MPI || defined I_MPI_VERSION
#define SAY_REDUCTION(...) SAY(__VA_ARGS__)
#else
#define SAY_REDUCTION(...) (void)0
#endif

static int in[64], out[64], handled, handled_class;
static MPI_Comm handled_comm;

// What each rank has seen, printed at the end: a rank may wait for another one in between.
static struct {
    const char *name;
    int value, is_class;
} said[100];
static int times;
static void note(const char *name, int value) {
    said[times].name = name;
    said[times++].value = value;
}
static void say(const char *name, int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    said[times].is_class = 1;
    note(name, error_class);
}
static const char *text_of(int error_class) {
    return error_class == MPI_SUCCESS        ? "MPI_SUCCESS"
           : error_class == MPI_ERR_BUFFER   ? "MPI_ERR_BUFFER"
           : error_class == MPI_ERR_COUNT    ? "MPI_ERR_COUNT"
           : error_class == MPI_ERR_TYPE     ? "MPI_ERR_TYPE"
           : error_class == MPI_ERR_COMM     ? "MPI_ERR_COMM"
           : error_class == MPI_ERR_ROOT     ? "MPI_ERR_ROOT"
           : error_class == MPI_ERR_OP       ? "MPI_ERR_OP"
           : error_class == MPI_ERR_ARG      ? "MPI_ERR_ARG"
           : error_class == MPI_ERR_INTERN   ? "MPI_ERR_INTERN"
           : error_class == MPI_ERR_TRUNCATE ? "MPI_ERR_TRUNCATE"
                                             : "another class";
}
static void print_all(void) {
    for (int i = 0; i < times; ++i) {
        int all[64];
        MPI_Gather(&said[i].value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
        for (int r = 0; rank == 0 && r < size; ++r)
            printf("%-40s on rank %d: %d %s\n", said[i].name, r, all[r], said[i].is_class ? text_of(all[r]) : "");
    }
}
#define SAY(...) say(#__VA_ARGS__, MPI_##__VA_ARGS__)

static void on_error(MPI_Comm *comm, int *code, ...) {
    ++handled;
    handled_comm = *comm;
    MPI_Error_class(*code, &handled_class);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm world, null = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    for (int i = 0; i < 40; ++i) checked_allreduce(world, i, 3);

    SAY(Barrier(null));
    SAY(Bcast(in, 4, MPI_INT, 0, null));
    SAY(Bcast(in, -1, MPI_INT, 0, world));
    SAY(Bcast(in, 4, MPI_DATATYPE_NULL, 0, world));
    SAY(Bcast(in, 4, MPI_INT, -5, world));
    SAY(Bcast(in, 4, MPI_INT, size, world));
    SAY_REDUCTION(Reduce(in, out, -1, MPI_INT, MPI_SUM, 0, world));
    SAY(Reduce(in, out, 4, MPI_INT, MPI_SUM, size, world));
    SAY(Reduce(in, out, 4, MPI_INT, MPI_OP_NULL, 0, world));
    SAY_REDUCTION(Allreduce(in, out, -3, MPI_INT, MPI_SUM, world));
    SAY_REDUCTION(Allreduce(in, out, 4, MPI_DATATYPE_NULL, MPI_SUM, world));
    SAY(Allreduce(in, out, 4, MPI_INT, MPI_OP_NULL, world));
    SAY(Allreduce(in, out, 4, MPI_DOUBLE, MPI_BAND, world));
    SAY(Allreduce(in, out, 4, MPI_INT, MPI_MINLOC, world));
    SAY(Allreduce(in, out, 4, MPI_INT, MPI_SUM, null));
#ifndef OPEN_MPI  // crashes
    SAY(Allreduce(in, NULL, 4, MPI_INT, MPI_SUM, world));
#endif
    SAY(Allreduce(in, in, 4, MPI_INT, MPI_SUM, world));
#ifndef OPEN_MPI  // takes it as MPI_IN_PLACE
    SAY(Exscan(in, in, 4, MPI_INT, MPI_SUM, world));  // also on rank 0, which has no result
#endif
    SAY_REDUCTION(Scan(in, out, -1, MPI_INT, MPI_SUM, world));
    SAY(Scan(in, out, 4, MPI_INT, MPI_OP_NULL, world));
    SAY_REDUCTION(Exscan(in, out, 4, MPI_DATATYPE_NULL, MPI_SUM, world));
    SAY_REDUCTION(Reduce_scatter_block(in, out, -1, MPI_INT, MPI_SUM, world));
    SAY(Allgather(in, -1, MPI_INT, out, 1, MPI_INT, world));
    SAY(Allgather(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, world));
    SAY(Allgather(in, 1, MPI_INT, out, -1, MPI_INT, world));
#ifndef OPEN_MPI  // crashes
    SAY(Allgather(in, 1, MPI_INT, out, 1, MPI_INT, null));
#endif
    SAY(Gather(in, -1, MPI_INT, out, 1, MPI_INT, 0, world));
    SAY(Gather(in, 1, MPI_INT, out, 1, MPI_INT, -9, world));
    SAY(Scatter(in, 1, MPI_INT, out, -1, MPI_INT, 0, world));
    SAY(Scatter(in, 1, MPI_INT, out, 1, MPI_INT, size + 3, world));
    SAY(Alltoall(in, -1, MPI_INT, out, 1, MPI_INT, world));
    SAY(Alltoall(in, 1, MPI_INT, out, 1, MPI_DATATYPE_NULL, world));
    // The like of the last call, but for the buffers.
    for (int i = 0; i < 2; ++i) MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, world);
    SAY(Alltoall(in, 1, MPI_INT, in, 1, MPI_INT, world));
    SAY(Allgatherv(in, 1, MPI_INT, out, out, out, MPI_DATATYPE_NULL, world));
    const int none[64] = {0}, one[64] = {1, 1, 1, 1};
#ifdef OPEN_MPI  // the others crash
    SAY(Alltoallv(in, NULL, none, MPI_INT, out, one, none, MPI_INT, world));
    SAY(Alltoallv(in, one, none, MPI_INT, out, one, NULL, MPI_INT, world));
#endif
    SAY(Alltoallv(in, one, none, MPI_INT, out, one, none, MPI_DATATYPE_NULL, world));
    // While an operation is in flight: rank 1 comes later.
    MPI_Request request;
    for (int i = 0; i < 20; ++i) {
        MPI_Ibarrier(world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        checked_allreduce(world, i, 3);
    }
    if (rank == 1) MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(world, &request);
    SAY(Waitall(-1, &request, MPI_STATUSES_IGNORE));
    if (rank == 0) MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Datatype uncommitted;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    SAY(Bcast(in, 4, uncommitted, 0, world));
    SAY(Allreduce(in, out, 4, uncommitted, MPI_SUM, world));
    MPI_Type_free(&uncommitted);
    // A rank's block for itself that is longer than it takes: what the MPI library makes of it.
    MPI_Comm itself;
    const int two[64] = {2};
    MPI_Dist_graph_create_adjacent(world, 1, &rank, MPI_UNWEIGHTED, 1, &rank, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &itself);
    MPI_Comm_set_errhandler(itself, MPI_ERRORS_RETURN);
    for (int i = 0; i < 20; ++i) MPI_Neighbor_alltoallv(in, one, none, MPI_INT, out, one, none, MPI_INT, itself);
    in[0] = 5, out[0] = 6, out[1] = 7;
    SAY(Neighbor_alltoallv(in, two, none, MPI_INT, out, one, none, MPI_INT, itself));
    note("taken", out[0]), note("behind it", out[1]);
    // No rank waits for another in it, so some begin the next call before others have left this one.
    for (int i = 0; i < 300; ++i) {
        MPI_Neighbor_alltoallv(in, two, none, MPI_INT, out, one, none, MPI_INT, itself);
        REQUIRE(MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, itself) == MPI_SUCCESS);
    }
    MPI_Comm_free(&itself);
    // All ranks alike send less than they expect.
    in[0] = rank + 1;
    for (int i = 0; i < 64; ++i) out[i] = 9;
    SAY(Allgather(in, 1, MPI_INT, out, 2, MPI_INT, world));
    for (int i = 0; i < 4; ++i) note("gathered", out[i]);
    in[0] = 0;

    // The communicator is as good as before.
    for (int i = 0; i < 20; ++i) checked_allreduce(world, i, 30);

    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(world, handler);
    MPI_Bcast(in, -1, MPI_INT, 0, world);
    REQUIRE(handled == 1 && handled_class == MPI_ERR_COUNT && handled_comm == world);
    MPI_Allreduce(in, out, 4, MPI_INT, MPI_OP_NULL, world);
    REQUIRE(handled == 2 && handled_class == MPI_ERR_OP);
    MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, size, world);
    REQUIRE(handled == 3 && handled_class == MPI_ERR_ROOT);
    checked_allreduce(world, 1, 30);
    REQUIRE(handled == 3);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&world);
    print_all();
    return done();
}

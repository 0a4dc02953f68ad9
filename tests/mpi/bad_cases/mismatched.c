// Wrong programs: the ranks call different collectives, or one with different lengths.  Rank 0
// says what the others do not.  Under MPI_ERRORS_RETURN each rank must get an error, and again
// from what it calls next; prints how many did.  `mismatched ilength many`: thousands of requests fail, of which
// nothing is kept.
#include <malloc.h>

#include "case.h"

static double in[40000], out[40000];

// As a blocking one, but for what becomes of it.
static int started(int error, MPI_Request *request) { return error ? error : MPI_Wait(request, MPI_STATUS_IGNORE); }

static int right_call(const char *how, MPI_Comm comm) {
    MPI_Request request;
    return how[0] == 'i' ? started(MPI_Ibarrier(comm, &request), &request) : MPI_Barrier(comm);
}

static int wrong_call(const char *how, MPI_Comm comm) {
    const int odd = rank == 0;
    int counts[64], displacements[64];
    for (int i = 0; i < size; ++i) counts[i] = 4, displacements[i] = 4 * i;
    MPI_Request request;
    if (!strcmp(how, "ilength")) return started(MPI_Iallreduce(in, out, odd ? 1 : 2, MPI_DOUBLE, MPI_SUM, comm, &request), &request);
    if (!strcmp(how, "igatherv"))
        return started(MPI_Igatherv(in, odd ? 4 : 9, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, 0, comm, &request), &request);
    if (!strcmp(how, "length")) return MPI_Allreduce(in, out, odd ? 1 : 2, MPI_DOUBLE, MPI_SUM, comm);
    if (!strcmp(how, "long")) return MPI_Bcast(in, odd ? 8 : 40000, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "root")) return MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, odd ? 0 : 1, comm);
    if (!strcmp(how, "operation")) return odd ? MPI_Barrier(comm) : MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm);
    if (!strcmp(how, "scatterv")) return MPI_Scatterv(in, counts, displacements, MPI_DOUBLE, out, odd ? 4 : 3, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "gatherv")) return MPI_Gatherv(in, odd ? 4 : 9, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "gatherv-once")) return MPI_Gatherv(in, odd ? 4 : 9000, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "gatherv-lent")) {  // from memory that the root loads from
        double *lent;
        MPI_Alloc_mem(20000, MPI_INFO_NULL, &lent);
        memset(lent, 0, 20000);
        int error = MPI_SUCCESS;
        for (int i = 0, n = 2500; i < 20 && error == MPI_SUCCESS; ++i) {
            if (i == 19) n = 10000;
            for (int r = 0; r < size; ++r) counts[r] = n, displacements[r] = n * r;
            error = MPI_Gatherv(odd ? in : lent, odd ? n : 2500, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, 0, comm);
        }
        MPI_Free_mem(lent);
        return error;
    }
    // The one block of a neighbor, along two edges.
    counts[1] = 3;
    if (!strcmp(how, "neighbor")) return MPI_Neighbor_allgatherv(in, 4, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, comm);
    counts[1] = 4;
    // A rank's own block alone, which it has twice.
    const int own = odd ? 9 : 4;
    if (!strcmp(how, "gather-own")) return MPI_Gather(in, own, MPI_DOUBLE, out, 4, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "igather-own"))
        return started(MPI_Igather(in, own, MPI_DOUBLE, out, 4, MPI_DOUBLE, 0, comm, &request), &request);
    if (!strcmp(how, "gather-less")) return MPI_Gather(in, odd ? 3 : 4, MPI_DOUBLE, out, 4, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "scatter-own")) return MPI_Scatter(in, 4, MPI_DOUBLE, out, own, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "scatterv-own")) return MPI_Scatterv(in, counts, displacements, MPI_DOUBLE, out, own, MPI_DOUBLE, 0, comm);
    if (!strcmp(how, "allgather-own")) return MPI_Allgather(in, own, MPI_DOUBLE, out, 4, MPI_DOUBLE, comm);
    if (!strcmp(how, "allgatherv-own")) return MPI_Allgatherv(in, own, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, comm);
    if (!strcmp(how, "alltoall-own")) return MPI_Alltoall(in, own, MPI_DOUBLE, out, 4, MPI_DOUBLE, comm);
    int sent[64];
    for (int i = 0; i < size; ++i) sent[i] = i == rank ? own : 4;
    if (!strcmp(how, "alltoallv-own"))
        return MPI_Alltoallv(in, sent, displacements, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, comm);
    if (!strcmp(how, "neighbor-own"))
        return MPI_Neighbor_alltoallv(in, sent, displacements, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, comm);
    return MPI_ERR_ARG;
}

// Found where the root initializes it; the others may be told there or have requests.  What comes next has another group.
static void initialized(MPI_Comm comm) {
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    const int own = rank == 0 ? 9 : 4;
    int counts[64], displacements[64];
    for (int i = 0; i < size; ++i) counts[i] = 4, displacements[i] = 4 * i;
    for (int call = 0; call < 4; ++call) {
        MPI_Request r;
        const int error = call == 0   ? MPI_Gather_init(in, own, MPI_DOUBLE, out, 4, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &r)
                          : call == 1 ? MPI_Scatter_init(in, 4, MPI_DOUBLE, out, own, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &r)
                          : call == 2 ? MPI_Gatherv_init(in, own, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &r)
                                      : MPI_Scatterv_init(in, counts, displacements, MPI_DOUBLE, out, own, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &r);
        REQUIRE(error || rank != 0);
        if (!error) MPI_Request_free(&r);
        double one = 1, sum = 0;
        REQUIRE(MPI_Allreduce_init(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &r) == MPI_SUCCESS);
        REQUIRE(MPI_Start(&r) == MPI_SUCCESS && MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS && sum == size);
        MPI_Request_free(&r);
    }
#endif
}

static void fail_many(MPI_Comm comm) {
    enum { warm = 1000, calls = 6000 };
    size_t before = 0;
    for (int i = 0; i < calls; ++i) {
        if (i == warm) before = mallinfo2().uordblks;
        REQUIRE(right_call("i", comm) != MPI_SUCCESS);
    }
    const size_t after = mallinfo2().uordblks;
    if (after > before + 8 * (calls - warm)) fprintf(stderr, "%zu bytes more\n", after - before);
    REQUIRE(after <= before + 8 * (calls - warm));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm;
    if (!strcmp(argv[1], "neighbor")) {
        const int next = (rank + 1) % size, last = (rank + size - 1) % size, from[2] = {next, next}, to[2] = {last, last};
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    } else if (!strcmp(argv[1], "neighbor-own")) {
        int all[64];
        for (int i = 0; i < size; ++i) all[i] = i;
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, all, MPI_UNWEIGHTED, size, all, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    } else {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    right_call("i", comm);  // after which the non-blocking ones are served as well
    for (int i = 0; i < 40; ++i) checked_allreduce(comm, i, 3);
    if (argc > 2 && !strcmp(argv[2], "fatal")) {  // the job is to end by itself
        wrong_call(argv[1], comm);
        MPI_Barrier(comm);
        sleep(20);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    // The request of a non-blocking one is no communicator's for the MPI library.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!strcmp(argv[1], "init")) {
        initialized(comm);
        return done();
    }
    int error = wrong_call(argv[1], comm);
    // A rank that needs nothing of the others has ended before they were there.
    if (!error) error = right_call(argv[1], comm);
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    REQUIRE(class == MPI_ERR_OTHER);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    REQUIRE(strstr(text, "fanlight: "));
    REQUIRE(right_call(argv[1], comm) != MPI_SUCCESS);
    if (argc > 2) fail_many(comm);
    int mine = 1, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks got an error\n", all);
    return done();
}

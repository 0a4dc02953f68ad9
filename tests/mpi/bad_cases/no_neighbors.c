// A neighborhood in which one rank has no neighbors: it goes on at once, and takes part in the counting of operations
// nevertheless.  Many calls, since only after some does a rank wait for all others.
#include "case.h"

enum { MOST = 200, CALLS = 300 };
static long long in[MOST], out[MOST];

static void check(int call, int n, const char *what) {
    for (int i = 0; rank == 1 && i < n; ++i)
        if (out[i] != call + i) {
            fprintf(stderr, "WRONG %s, call %d\n", what, call);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    memset(out, 0, sizeof out);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int source[1] = {0}, target[1] = {1}, place = 0;
    const MPI_Aint byte = 0;
    MPI_Datatype type = MPI_LONG_LONG;
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 1, source, MPI_UNWEIGHTED, rank == 0, target, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    for (int call = 0; call < CALLS; ++call) {
        const int n = call * 7 % MOST;
        for (int i = 0; i < n; ++i) in[i] = call + i;
        MPI_Neighbor_alltoallw(in, &n, &byte, &type, out, &n, &byte, &type, comm);
        check(call, n, "alltoallw");
        MPI_Neighbor_alltoallv(in, &n, &place, type, out, &n, &place, type, comm);
        check(call, n, "alltoallv");
        MPI_Neighbor_alltoall(in, n, type, out, n, type, comm);
        check(call, n, "alltoall");
        MPI_Neighbor_allgatherv(in, n, type, out, &n, &place, type, comm);
        check(call, n, "allgatherv");
        MPI_Neighbor_allgather(in, n, type, out, n, type, comm);
        check(call, n, "allgather");
        MPI_Request request;
        MPI_Ineighbor_alltoallv(in, &n, &place, type, out, &n, &place, type, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(call, n, "ialltoallv");
    }
    MPI_Comm_free(&comm);
    return done();
}

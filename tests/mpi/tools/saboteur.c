// Makes one collective operation wrong, by SABOTAGE=operation, to show that the test program
// `collectives` sees it.  Takes the place of Fanlight in LD_PRELOAD.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *operation) {
    const char *wanted = getenv("SABOTAGE");
    return wanted && !strcmp(wanted, operation);
}
// Two different bytes change places somewhere in the data; the sum of bytes stays the same.
static void swap(void *data, MPI_Count bytes) {
    unsigned char *p = data;
    for (MPI_Count i = bytes / 2; i + 1 < bytes; ++i)
        if (p[i] != p[i + 1]) {
            const unsigned char kept = p[i];
            p[i] = p[i + 1], p[i + 1] = kept;
            return;
        }
}
static MPI_Count bytes_of(int n, MPI_Datatype type) {
    int one;
    PMPI_Type_size(type, &one);
    return (MPI_Count)n * one;
}

int MPI_Barrier(MPI_Comm comm) { return is("barrier") ? MPI_SUCCESS : PMPI_Barrier(comm); }

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    const int code = PMPI_Bcast(data, n, type, root, comm);
    if (is("bcast")) swap(data, bytes_of(n, type));
    return code;
}

// A user operator, or any other, in the wrong order: every rank has the next one's place.
int MPI_Reduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    if (!is("reduce")) return PMPI_Reduce(in, out, n, type, op, root, comm);
    int rank, size;
    MPI_Comm turned;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_split(comm, 0, (rank + 1) % size, &turned);
    const int code = PMPI_Reduce(in, out, n, type, op, (root + 1) % size, turned);
    PMPI_Comm_free(&turned);
    return code;
}

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    const int code = PMPI_Allreduce(in, out, n, type, op, comm);
    if (is("allreduce") && rank == 1) swap(out, bytes_of(n, type));
    if (is("guard") && n == 129) ((char *)out)[bytes_of(n, type)] = 0;
    if (is("input") && n == 129 && in != MPI_IN_PLACE) ((char *)in)[0] ^= 1;
    return code;
}

// Two blocks change places.
int MPI_Allgather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm) {
    const int code = PMPI_Allgather(in, n, type, out, m, to, comm);
    int size;
    PMPI_Comm_size(comm, &size);
    if (!is("allgather") || size < 2) return code;
    MPI_Aint lower, extent;
    PMPI_Type_get_extent(to, &lower, &extent);
    const size_t bytes = (size_t)(m * extent);
    char *kept = malloc(bytes + 1), *first = out, *second = first + bytes;
    memcpy(kept, first, bytes), memcpy(first, second, bytes), memcpy(second, kept, bytes);
    free(kept);
    return code;
}

int MPI_Alltoall(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm) {
    const int code = PMPI_Alltoall(in, n, type, out, m, to, comm);
    if (is("alltoall")) swap(out, bytes_of(m, to));
    return code;
}

int MPI_Gather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    if (!is("gather") || rank == 0 || in == MPI_IN_PLACE)
        return PMPI_Gather(in, n, type, out, m, to, root, comm);
    const size_t bytes = (size_t)bytes_of(n, type);  // rank 1 sends what lies a byte further
    return PMPI_Gather((const char *)in + (bytes > 0), n, type, out, m, to, root, comm);
}

int MPI_Scan(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return is("scan") ? PMPI_Allreduce(in, out, n, type, op, comm) : PMPI_Scan(in, out, n, type, op, comm);
}

int MPI_Iallgather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm,
                   MPI_Request *request) {
    if (!is("iallgather")) return PMPI_Iallgather(in, n, type, out, m, to, comm, request);
    PMPI_Allgather(in, n, type, out, m, to, comm);
    swap(out, bytes_of(m, to));
    return PMPI_Ibarrier(comm, request);
}

// A second opinion on every collective call of an unmodified program: fills the send buffer
// with data of its own (WITNESS_FILL=1, for benchmarks, which send nothing of interest), makes
// the call, then the same call by the MPI library's PMPI_ form into another buffer, and
// compares.  Preloaded before Fanlight.  For contiguous datatypes without MPI_IN_PLACE.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long calls;

#define NEXT(name, ...) ((__typeof__(&MPI_##name))dlsym(RTLD_NEXT, "MPI_" #name))(__VA_ARGS__)

static size_t bytes_of(MPI_Count n, MPI_Datatype type) {
    int one;
    PMPI_Type_size(type, &one);
    return (size_t)(n * one);
}

static void compare(const char *name, const void *got, const void *expected, size_t bytes, MPI_Comm comm) {
    ++calls;
    if (!memcmp(got, expected, bytes)) return;
    size_t i = 0;
    while (((const char *)got)[i] == ((const char *)expected)[i]) ++i;
    int rank;
    PMPI_Comm_rank(comm, &rank);
    fprintf(stderr, "WRONG %s: rank %d, call %ld, byte %zu of %zu\n", name, rank, calls, i, bytes);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

// A non-blocking call is made once more as a blocking one.  MPI_Wait is left to Fanlight, which
// serves no such call where another library's MPI_Wait stands above its own; so the results are
// compared in the program's next call, for programs that have one in flight and have waited for it.
static struct {
    const char *name;
    void *got, *expected;
    size_t bytes;
    MPI_Comm comm;
} pending;

static void settle(void) {
    if (!pending.name) return;
    compare(pending.name, pending.got, pending.expected, pending.bytes, pending.comm);
    free(pending.expected);
    pending.name = NULL;
}

// IMB sends floats and bytes; ints and doubles are what it tells its ranks and its times.
// Small whole numbers as floats: sums are exact in any order.
static void fill(const void *buffer, MPI_Count n, MPI_Datatype type, MPI_Comm comm) {
    settle();
    static const char *wanted;
    if (!wanted) wanted = getenv("WITNESS_FILL") ? getenv("WITNESS_FILL") : "";
    if (!*wanted || !buffer || buffer == MPI_IN_PLACE) return;
    int rank;
    PMPI_Comm_rank(comm, &rank);
    uint32_t x = (uint32_t)(calls * 2654435761u) ^ (uint32_t)(rank + 1) * 0x9e3779b9u;
#define EACH(type, value)                           \
    for (MPI_Count i = 0; i < n; ++i) {             \
        x = x * 1664525u + 1013904223u;             \
        ((type *)(uintptr_t)buffer)[i] = (type)(value); \
    }
    if (type == MPI_FLOAT) EACH(float, x >> 24)
    else if (type == MPI_BYTE || type == MPI_CHAR) EACH(unsigned char, x >> 24)
}

static bool is_root(int root, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}
static MPI_Count ranks(MPI_Comm comm) {
    int size;
    PMPI_Comm_size(comm, &size);
    return size;
}
static MPI_Count end_of(const int *counts, const int *places, MPI_Comm comm) {
    MPI_Count end = 0;
    for (MPI_Count i = 0, n = ranks(comm); i < n; ++i)
        if (places[i] + counts[i] > end) end = places[i] + counts[i];
    return end;
}

// `out` names the parameter that the result goes to, of `n` elements.
#define BOTH(name, out, n, type, comm, ...)                                     \
    settle();                                                                   \
    const size_t bytes = bytes_of(n, type);                                     \
    void *const got = out, *const expected = malloc(bytes + 1);                 \
    if (bytes) memcpy(expected, got, bytes);                                    \
    const int code = NEXT(name, __VA_ARGS__);                                   \
    out = expected;                                                             \
    PMPI_##name(__VA_ARGS__);                                                   \
    compare("MPI_" #name, got, expected, bytes, comm);                          \
    free(expected);                                                             \
    return code

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    if (is_root(root, comm)) fill(data, n, type, comm);
    BOTH(Bcast, data, n, type, comm, data, n, type, root, comm);
}
int MPI_Reduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    fill(in, n, type, comm);
    BOTH(Reduce, out, is_root(root, comm) ? n : 0, type, comm, in, out, n, type, op, root, comm);
}
int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    fill(in, n, type, comm);
    BOTH(Allreduce, out, n, type, comm, in, out, n, type, op, comm);
}
int MPI_Reduce_scatter_block(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    fill(in, n * ranks(comm), type, comm);
    BOTH(Reduce_scatter_block, out, n, type, comm, in, out, n, type, op, comm);
}
int MPI_Allgather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm) {
    fill(in, n, type, comm);
    BOTH(Allgather, out, m * ranks(comm), to, comm, in, n, type, out, m, to, comm);
}
int MPI_Alltoall(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm) {
    fill(in, n * ranks(comm), type, comm);
    BOTH(Alltoall, out, m * ranks(comm), to, comm, in, n, type, out, m, to, comm);
}
int MPI_Gather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root, MPI_Comm comm) {
    fill(in, n, type, comm);
    const bool root_here = is_root(root, comm);
    BOTH(Gather, out, root_here ? m * ranks(comm) : 0, to, comm, in, n, type, out, m, to, root, comm);
}
int MPI_Scatter(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root, MPI_Comm comm) {
    if (is_root(root, comm)) fill(in, n * ranks(comm), type, comm);
    BOTH(Scatter, out, m, to, comm, in, n, type, out, m, to, root, comm);
}
int MPI_Allgatherv(const void *in, int n, MPI_Datatype type, void *out, const int *m, const int *at,
                   MPI_Datatype to, MPI_Comm comm) {
    fill(in, n, type, comm);
    BOTH(Allgatherv, out, end_of(m, at, comm), to, comm, in, n, type, out, m, at, to, comm);
}
int MPI_Gatherv(const void *in, int n, MPI_Datatype type, void *out, const int *m, const int *at,
                MPI_Datatype to, int root, MPI_Comm comm) {
    fill(in, n, type, comm);
    const MPI_Count end = is_root(root, comm) ? end_of(m, at, comm) : 0;
    BOTH(Gatherv, out, end, to, comm, in, n, type, out, m, at, to, root, comm);
}
int MPI_Scatterv(const void *in, const int *n, const int *at, MPI_Datatype type, void *out, int m,
                 MPI_Datatype to, int root, MPI_Comm comm) {
    if (is_root(root, comm)) fill(in, end_of(n, at, comm), type, comm);
    BOTH(Scatterv, out, m, to, comm, in, n, at, type, out, m, to, root, comm);
}

#define STARTED(started, blocking, out, n, type, comm_, ...)         \
    settle();                                                        \
    pending.name = "MPI_" #started, pending.comm = comm_;            \
    pending.got = out, pending.bytes = bytes_of(n, type);            \
    pending.expected = malloc(pending.bytes + 1);                    \
    if (pending.bytes) memcpy(pending.expected, out, pending.bytes); \
    const int code = NEXT(started, __VA_ARGS__, request);            \
    out = pending.expected;                                          \
    PMPI_##blocking(__VA_ARGS__);                                    \
    return code

int MPI_Ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
    if (is_root(root, comm)) fill(data, n, type, comm);
    STARTED(Ibcast, Bcast, data, n, type, comm, data, n, type, root, comm);
}
int MPI_Ireduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request *request) {
    fill(in, n, type, comm);
    STARTED(Ireduce, Reduce, out, is_root(root, comm) ? n : 0, type, comm, in, out, n, type, op, root, comm);
}
int MPI_Iallreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request) {
    fill(in, n, type, comm);
    STARTED(Iallreduce, Allreduce, out, n, type, comm, in, out, n, type, op, comm);
}
int MPI_Ireduce_scatter(const void *in, void *out, const int *n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Request *request) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    MPI_Count all = 0;
    for (MPI_Count i = 0, size = ranks(comm); i < size; ++i) all += n[i];
    fill(in, all, type, comm);
    STARTED(Ireduce_scatter, Reduce_scatter, out, n[rank], type, comm, in, out, n, type, op, comm);
}
int MPI_Iallgather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm,
                   MPI_Request *request) {
    fill(in, n, type, comm);
    STARTED(Iallgather, Allgather, out, m * ranks(comm), to, comm, in, n, type, out, m, to, comm);
}
int MPI_Ialltoall(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm,
                  MPI_Request *request) {
    fill(in, n * ranks(comm), type, comm);
    STARTED(Ialltoall, Alltoall, out, m * ranks(comm), to, comm, in, n, type, out, m, to, comm);
}
int MPI_Igather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root, MPI_Comm comm,
                MPI_Request *request) {
    fill(in, n, type, comm);
    const bool root_here = is_root(root, comm);
    STARTED(Igather, Gather, out, root_here ? m * ranks(comm) : 0, to, comm, in, n, type, out, m, to, root, comm);
}
int MPI_Iscatter(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, int root, MPI_Comm comm,
                 MPI_Request *request) {
    if (is_root(root, comm)) fill(in, n * ranks(comm), type, comm);
    STARTED(Iscatter, Scatter, out, m, to, comm, in, n, type, out, m, to, root, comm);
}
int MPI_Iallgatherv(const void *in, int n, MPI_Datatype type, void *out, const int *m, const int *at,
                    MPI_Datatype to, MPI_Comm comm, MPI_Request *request) {
    fill(in, n, type, comm);
    STARTED(Iallgatherv, Allgatherv, out, end_of(m, at, comm), to, comm, in, n, type, out, m, at, to, comm);
}
int MPI_Ialltoallv(const void *in, const int *n, const int *from, MPI_Datatype type, void *out, const int *m,
                   const int *at, MPI_Datatype to, MPI_Comm comm, MPI_Request *request) {
    fill(in, end_of(n, from, comm), type, comm);
    STARTED(Ialltoallv, Alltoallv, out, end_of(m, at, comm), to, comm, in, n, from, type, out, m, at, to, comm);
}
int MPI_Igatherv(const void *in, int n, MPI_Datatype type, void *out, const int *m, const int *at,
                 MPI_Datatype to, int root, MPI_Comm comm, MPI_Request *request) {
    fill(in, n, type, comm);
    const MPI_Count end = is_root(root, comm) ? end_of(m, at, comm) : 0;
    STARTED(Igatherv, Gatherv, out, end, to, comm, in, n, type, out, m, at, to, root, comm);
}
int MPI_Iscatterv(const void *in, const int *n, const int *at, MPI_Datatype type, void *out, int m,
                  MPI_Datatype to, int root, MPI_Comm comm, MPI_Request *request) {
    if (is_root(root, comm)) fill(in, end_of(n, at, comm), type, comm);
    STARTED(Iscatterv, Scatterv, out, m, to, comm, in, n, at, type, out, m, to, root, comm);
}

int MPI_Barrier(MPI_Comm comm) {
    settle();
    return NEXT(Barrier, comm);
}

int MPI_Finalize(void) {
    settle();
    if (is_root(0, MPI_COMM_WORLD)) printf("witness: ok, %ld calls compared\n", calls), fflush(stdout);
    return NEXT(Finalize);
}

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

// IMB sends floats and bytes; ints and doubles are what it tells its ranks and its times.
// Small whole numbers as floats: sums are exact in any order.
static void fill(const void *buffer, MPI_Count n, MPI_Datatype type, MPI_Comm comm) {
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

int MPI_Finalize(void) {
    if (is_root(0, MPI_COMM_WORLD)) printf("witness: ok, %ld calls compared\n", calls), fflush(stdout);
    return NEXT(Finalize);
}

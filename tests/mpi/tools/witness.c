// A second opinion on every collective call of an unmodified program: fills the send buffer
// with data of its own (WITNESS_FILL=1, for benchmarks, which send nothing of interest), makes
// the call, then the same call by the MPI library's PMPI_ form into another buffer, and
// compares.  Preloaded before Fanlight.  For contiguous datatypes without MPI_IN_PLACE.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
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

// Small whole numbers in floats and doubles: sums are exact in any order.
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
    else if (type == MPI_DOUBLE) EACH(double, x >> 24)
    else {
        n = (MPI_Count)bytes_of(n, type);
        EACH(unsigned char, x >> 24)
    }
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

// The call, then the MPI library's own with a copy of the result buffer as it was before.
#define WITNESS(name, out, bytes, significant, comm, call_by, ...)                      \
    do {                                                                                \
        const size_t length = (significant) ? (bytes) : 0;                              \
        void *expected = malloc(length + 1);                                            \
        if (length) memcpy(expected, out, length);                                      \
        void *own = out;                                                                \
        int code = NEXT(name, __VA_ARGS__);                                             \
        own = expected;                                                                 \
        PMPI_##name call_by;                                                            \
        compare("MPI_" #name, out, own, length, comm);                                  \
        free(expected);                                                                 \
        return code;                                                                    \
    } while (0)

// Buffers over 2 GiB by the _c forms: bcast, and allgather whose result is over 2 GiB.
#include "case.h"

#if MPI_VERSION >= 4
#include <stdint.h>

static const MPI_Count N = ((MPI_Count)1 << 31) + 8 * 513;

static uint64_t word(int source, MPI_Count i) { return ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)source; }
static void fill(char *to, MPI_Count bytes, int source) {
    for (MPI_Count i = 0; i < bytes / 8; ++i) ((uint64_t *)to)[i] = word(source, i);
}
static void verify(const char *p, MPI_Count bytes, int source) {
    MPI_Count wrong = 0;
    for (MPI_Count i = 0; i < bytes / 8; ++i) wrong += ((const uint64_t *)p)[i] != word(source, i);
    REQUIRE(wrong == 0);
}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
#if MPI_VERSION >= 4
    for (int i = 0; i < 40; ++i) checked_allreduce(MPI_COMM_WORLD, i, 3);
    char *data = calloc(1, (size_t)N + 1);
    REQUIRE(data);
    if (rank == size - 1) fill(data, N, 1);
    MPI_Bcast_c(data, N, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    verify(data, N, 1);
    REQUIRE(data[N] == 0);
    // More than 2 GiB in bytes, but not in elements.
    memset(data, 0, (size_t)N);
    if (rank == 0) fill(data, N, 2);
    MPI_Bcast(data, (int)(N / 8), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    verify(data, N, 2);
    const MPI_Count block = N / size / 8 * 8;
    memset(data, 0, (size_t)N);
    fill(data + rank * block, block, rank);
    MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, block, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) verify(data + r * block, block, r);
    free(data);
#else
    if (rank == 0) printf("skipped: no large counts in this MPI\n");
#endif
    return done();
}

// Buffers over 2 GiB by the _c forms: bcast, and allgather whose result is over 2 GiB.
#include "case.h"

#if MPI_VERSION >= 4
static const MPI_Count N = ((MPI_Count)1 << 31) + 4097;

static unsigned char byte(int source, MPI_Count i) {
    return (unsigned char)(i * 37 + (i >> 20) + source * 11);
}
static void fill(unsigned char *to, MPI_Count n, int source) {
    for (MPI_Count i = 0; i < n; ++i) to[i] = byte(source, i);
}
static void verify(const unsigned char *p, MPI_Count n, int source) {
    MPI_Count wrong = 0;
    for (MPI_Count i = 0; i < n; ++i) wrong += p[i] != byte(source, i);
    REQUIRE(wrong == 0);
}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
#if MPI_VERSION >= 4
    for (int i = 0; i < 40; ++i) checked_allreduce(MPI_COMM_WORLD, i, 3);
    unsigned char *data = calloc(1, (size_t)N + 1);
    REQUIRE(data);
    if (rank == size - 1) fill(data, N, 1);
    MPI_Bcast_c(data, N, MPI_BYTE, size - 1, MPI_COMM_WORLD);
    verify(data, N, 1);
    REQUIRE(data[N] == 0);
    // More than 2 GiB in bytes, but not in elements.
    memset(data, 0, (size_t)N);
    if (rank == 0) fill(data, N / 8 * 8, 2);
    MPI_Bcast(data, (int)(N / 8), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    verify(data, N / 8 * 8, 2);
    const MPI_Count block = N / size;
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

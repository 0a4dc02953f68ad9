// Displacements that are addresses, of blocks of bytes from MPI_BOTTOM: on one rank, while the others name a buffer.
#include "case.h"

#if MPI_VERSION >= 4

static MPI_Count counts[64];
static MPI_Aint relative[64], absolute[64];

static void once(int call, int root, char *all) {
    const int everybody = call % 3 == 0, by_address = rank == (everybody ? size - 1 : root);
    char one[3], *const buffer = by_address ? MPI_BOTTOM : all;
    const MPI_Aint *const places = by_address ? absolute : relative;
    const int scatters = call % 3 == 2;
    memset(one, scatters ? 0 : 'a' + rank, sizeof one);
    for (int i = 0; i < 4 * size; ++i) all[i] = scatters ? 'a' + i / 4 : 0;
    if (everybody) MPI_Allgatherv_c(one, 3, MPI_BYTE, buffer, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else if (scatters) MPI_Scatterv_c(buffer, counts, places, MPI_BYTE, one, 3, MPI_BYTE, root, MPI_COMM_WORLD);
    else MPI_Gatherv_c(one, 3, MPI_BYTE, buffer, counts, places, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i) REQUIRE(one[i] == 'a' + rank);
    for (int i = 0; i < 4 * size; ++i)
        if (scatters) REQUIRE(all[i] == 'a' + i / 4);
        else REQUIRE(all[i] == (i % 4 < 3 && (everybody || rank == root) ? 'a' + i / 4 : 0));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    char all[4 * 64];
    for (int r = 0; r < size; ++r) {
        counts[r] = 3, relative[r] = 4 * r;
        MPI_Get_address(all + 4 * r, &absolute[r]);
    }
    MPI_Barrier(MPI_COMM_WORLD);  // the first call is left to the MPI library
    for (int call = 0; call < 12; ++call) once(call, call % size, all);
    return done();
}

#else

int main(int argc, char **argv) {
    begin(&argc, &argv);
    return done();
}

#endif

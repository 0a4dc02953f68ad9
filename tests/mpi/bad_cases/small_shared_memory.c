// After MPI_Init, which needs more, /dev/shm becomes one of 1 MiB: right results all the same.
// To be run in a mount namespace of its own (unshare --mount); the argument names the one that
// must not be touched.
#include <sys/mount.h>

#include "case.h"

int main(int argc, char **argv) {
    char own[64] = "";
    if (readlink("/proc/self/ns/mnt", own, sizeof own - 1) < 0 || argc < 2 || !strcmp(own, argv[1]))
        return fprintf(stderr, "not in a mount namespace of its own\n"), 77;
    begin(&argc, &argv);
    // By one rank of all, who share the namespace; the others see it when it has told them.
    int mounted = 0;
    if (rank == 0) mounted = mount("none", "/dev/shm", "tmpfs", 0, "size=1M") ? -1 : 1;
    for (int r = 1; r < size && rank == 0; ++r) MPI_Send(&mounted, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
    if (rank) MPI_Recv(&mounted, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (mounted != 1) MPI_Abort(MPI_COMM_WORLD, 77);
    for (int i = 0; i < 60; ++i) checked_allreduce(MPI_COMM_WORLD, i, 1 + i * 300);
    for (int turn = 0; turn < 3; ++turn) {
        MPI_Comm dup;
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        for (int i = 0; i < 30; ++i) checked_allreduce(dup, i, 10);
        MPI_Comm_free(&dup);
    }
    return done();
}

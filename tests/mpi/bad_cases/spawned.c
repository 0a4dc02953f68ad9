// Processes of another job, which have not loaded Fanlight, in a communicator with those that have.  With an argument they
// have, and all ranks say so by fanlight_prepare.
#include <dlfcn.h>

#include "case.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm parent, between, all;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        char preload[4096] = "LD_PRELOAD=", *words[] = {preload, "FANLIGHT_START_AFTER=0", argv[0], argc > 1 ? argv[1] : NULL, NULL};
        if (argc > 1) strncat(preload, getenv("LD_PRELOAD"), sizeof preload - strlen(preload) - 1);
        MPI_Comm_spawn("/usr/bin/env", words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    } else {
        between = parent;
    }
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    if (argc > 1) {
        int (*const prepare)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "fanlight_prepare");
        REQUIRE(prepare && prepare(all) == MPI_SUCCESS);
    }
    for (int i = 0; i < 30; ++i) {
        int told = parent == MPI_COMM_NULL && rank == 0 ? i : -1;
        checked_allreduce(all, i, 3);
        REQUIRE(MPI_Bcast(&told, 1, MPI_INT, 0, all) == MPI_SUCCESS && told == i);
        checked_allreduce(MPI_COMM_WORLD, i, 3);
    }
    MPI_Win win;
    void *memory;
    REQUIRE(MPI_Win_allocate(100000, 1, MPI_INFO_NULL, all, &memory, &win) == MPI_SUCCESS);
    MPI_Win_free(&win);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    if (parent != MPI_COMM_NULL) return MPI_Finalize();
    return done();
}

// How often one look at a window, after a barrier behind the others' last access, finds it: of 20 by MPI_Win_test from C, and
// of 20 as mpi_f08 calls it.
#include "../bad_cases/case.h"

void mpi_win_test_f08_(const MPI_Fint *win, int *flag, int *error);

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int *memory, flag, error = MPI_SUCCESS;
    const int other = !rank;
    MPI_Win win;
    MPI_Group world, others;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &others);
    const MPI_Fint handle = MPI_Win_c2f(win);
    int found[2] = {0, 0};
    for (int call = 0; call < 40; ++call) {
        *memory = -1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_Win_post(others, 0, win);
        else {
            MPI_Win_start(others, 0, win);
            MPI_Put(&call, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) continue;
        if (call % 2) mpi_win_test_f08_(&handle, &flag, &error);
        else error = MPI_Win_test(win, &flag);
        REQUIRE(error == MPI_SUCCESS);
        found[call % 2] += flag != 0;
        if (!flag) MPI_Win_wait(win);
        REQUIRE(*memory == call);
    }
    if (rank == 0) printf("%d from C, %d as mpi_f08\n", found[0], found[1]);
    MPI_Group_free(&world), MPI_Group_free(&others);
    MPI_Win_free(&win);
    return done();
}

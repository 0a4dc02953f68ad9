// MPI's sessions without MPI_Init: there is no MPI_COMM_WORLD.
//
//   sessions beside   with MPI_Init: no call may be given objects of both
#include "case.h"

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static void use(MPI_Comm comm) {
    for (int i = 0; i < 30; ++i) {
        checked_allreduce(comm, i, 3);
        MPI_Request request;
        int told = rank == 0 ? i : -1;
        MPI_Ibcast(&told, 1, MPI_INT, 0, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(told == i);
    }
    MPI_Win win;
    void *memory;
    MPI_Win_allocate(100000, 1, MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_free(&win);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

static void one_session_alone(void) {
    MPI_Session session;
    MPI_Comm comm;
    if (rank == 0) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm);
    if (rank == 0) MPI_Session_finalize(&session);
}

int main(int argc, char **argv) {
    const int beside = argc > 1;
    if (beside) {
        begin(&argc, &argv);
        one_session_alone();
    }
    MPI_Session session;
    MPI_Group all;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, "fanlight", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; beside && i < 30; ++i) checked_allreduce(MPI_COMM_WORLD, i, 3);
    use(comm);
    MPI_Group_free(&all);
    if (beside) {
        MPI_Session_finalize(&session);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);  // served again
        for (int i = 0; i < 5; ++i) MPI_Bcast((int[]){rank}, 1, MPI_INT, 0, comm);
        MPI_Comm_free(&comm);
        return done();
    }
    if (rank == 0) printf("ok\n"), fflush(stdout);
    MPI_Session_finalize(&session);
    return 0;
}
#else
int main(void) {
    printf("ok\n");
    return 0;
}
#endif

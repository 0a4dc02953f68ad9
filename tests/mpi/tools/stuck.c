// An MPI_Abort that does not end the job.
#include <mpi.h>
#include <unistd.h>

// Fanlight calls it by this name.
int PMPI_Abort(MPI_Comm comm, int code) {
    static const char text[] = "MPI_Abort hangs\n";
    (void)comm, (void)code;
    if (write(2, text, sizeof text - 1) > 0)
        for (;;) pause();
    return MPI_ERR_OTHER;
}

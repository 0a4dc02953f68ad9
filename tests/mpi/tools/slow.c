// Makes one side slow, by SLOW=fanlight or SLOW=mpi, so that a test knows what the guard must find.  Preloaded
// behind Fanlight: its packing is by this PMPI_Pack(_c), the MPI library's own calls that it is compared with are these.
// SLOW=single-copy: what reads another process's memory; SLOW=window: rank 1, when it has made one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

static void wait_if(const char *side) {
    const char *slow = getenv("SLOW");
    if (slow && !strcmp(slow, side)) nanosleep(&(struct timespec){0, 10000000}, NULL);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int PMPI_Pack(const void *in, int n, MPI_Datatype type, void *out, int room, int *at, MPI_Comm comm) {
    wait_if("fanlight");
    return NEXT(PMPI_Pack)(in, n, type, out, room, at, comm);
}
#if MPI_VERSION >= 4
int PMPI_Pack_c(const void *in, MPI_Count n, MPI_Datatype type, void *out, MPI_Count room, MPI_Count *at, MPI_Comm comm) {
    wait_if("fanlight");
    return NEXT(PMPI_Pack_c)(in, n, type, out, room, at, comm);
}
#endif

int MPI_Allgather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm) {
    wait_if("mpi");
    return NEXT(MPI_Allgather)(in, n, type, out, m, to, comm);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m, unsigned long flags) {
    wait_if("single-copy");
    return NEXT(process_vm_readv)(pid, to, n, from, m, flags);
}

int PMPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *memory, MPI_Win *window) {
    const int error = NEXT(PMPI_Win_allocate)(bytes, unit, info, comm, memory, window);
    int rank;
    PMPI_Comm_rank(comm, &rank);
    for (int i = 0; rank == 1 && i < 50; ++i) wait_if("window");
    return error;
}

// Of what the guard runs beside the program's own.
int PMPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    if (type == MPI_DOUBLE) wait_if("mpi");
    return NEXT(PMPI_Allreduce)(in, out, n, type, op, comm);
}

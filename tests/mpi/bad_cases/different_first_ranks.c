// The first communicators have other ranks 0 than MPI_COMM_WORLD: where each process knows measured rules of its
// own (FANLIGHT_TUNED), those of a communicator are its rank 0's.  Says by what each one is served.
#define _GNU_SOURCE
#include "case.h"

#include <dlfcn.h>

typedef int GetAlgorithm(MPI_Comm, const char *, MPI_Count, char *, int);

static void use(MPI_Comm comm, const char *name) {
    int own, all;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &all);
    for (int i = 0; i < 20; ++i) {
        long mine[100], sum[100];
        for (int k = 0; k < 100; ++k) mine[k] = own + i + k;
        MPI_Allreduce(mine, sum, 100, MPI_LONG, MPI_SUM, comm);
        for (int k = 0; k < 100; ++k)
            if (sum[k] != all * (all - 1) / 2 + (long)all * (i + k)) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    GetAlgorithm *algorithm;
    *(void **)&algorithm = dlsym(RTLD_DEFAULT, "fanlight_get_algorithm");
    char text[512] = "";
    if (algorithm && algorithm(comm, "allreduce", 800, text, sizeof text) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    printf("%s rank %d: %s\n", name, own, text);
}

int main(int argc, char **argv) {
    MPI_Comm last_two, backwards;
    begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, 0, &last_two);
    if (rank > 0) use(last_two, "last two");
    use(MPI_COMM_WORLD, "world");
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    use(backwards, "backwards");
    MPI_Comm_free(&last_two);
    MPI_Comm_free(&backwards);
    return done();
}

// Makes one algorithm of Fanlight's wrong: the results of MPI_Allreduce where it is forced to SPOIL, so that
// `fanlight tune` must exclude it.  Preloaded before Fanlight.
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

typedef int Allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int GetAlgorithm(MPI_Comm, const char *, MPI_Count, char *, int);

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    static Allreduce *next;
    static GetAlgorithm *algorithm;
    if (!next) {
        *(void **)&next = dlsym(RTLD_NEXT, "MPI_Allreduce");
        *(void **)&algorithm = dlsym(RTLD_DEFAULT, "fanlight_get_algorithm");
    }
    const int code = next(in, out, n, type, op, comm);
    char text[256] = "";
    const char *spoilt = getenv("SPOIL");
    if (algorithm && spoilt && n > 0) algorithm(comm, "allreduce", 8, text, sizeof text);
    if (*text && strncmp(text, spoilt, strlen(spoilt)) == 0) *(unsigned char *)out ^= 1;
    return code;
}

// What the programs of the bad cases share.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

__attribute__((unused)) static void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

// False, and MPI is over, where the library has no MPI_THREAD_MULTIPLE.
__attribute__((unused)) static int begin_with_threads(int *argc, char ***argv) {
    int provided;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided == MPI_THREAD_MULTIPLE) return 1;
    if (rank == 0) printf("skipped: no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 0;
}

#define REQUIRE(condition)                                                             \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "WRONG rank %d, %s:%d: %s\n", rank, __FILE__, __LINE__, #condition); \
            fflush(stderr);                                                            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                              \
            _exit(1);                                                                  \
        }                                                                              \
    } while (0)

// An allreduce whose result tells who took part in which call.
__attribute__((unused)) static void checked_allreduce(MPI_Comm comm, int call, int n) {
    int r, s, *in = malloc((size_t)n * sizeof(int)), *out = malloc((size_t)n * sizeof(int));
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &s);
    for (int i = 0; i < n; ++i) in[i] = (r + 1) * (i % 1000 + call), out[i] = -1;
    REQUIRE(MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < n; ++i) REQUIRE(out[i] == s * (s + 1) / 2 * (i % 1000 + call));
    free(in);
    free(out);
}

__attribute__((unused)) static int done(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("ok\n"), fflush(stdout);
    MPI_Finalize();
    return 0;
}

// A program for the layer (layer.c), by whose header MPI's handles are addresses of its variables.
#include <stdio.h>
#include <stdlib.h>

#if defined(LAYER_OF_OPENMPI)
#define layer_world ompi_mpi_comm_world
#define layer_int ompi_mpi_int
#define layer_sum ompi_mpi_op_sum
#endif
extern char layer_world[], layer_int[], layer_sum[];
int MPI_Init(int *, char ***), MPI_Finalize(void), MPI_Comm_rank(void *, int *), MPI_Comm_size(void *, int *), MPI_Barrier(void *);
int MPI_Allreduce(const void *, void *, int, void *, void *, void *);

int main(int argc, char **argv) {
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(layer_world, &rank);
    MPI_Comm_size(layer_world, &size);
    for (int i = 0; i < 100; ++i) {
        const int own = i + rank;
        MPI_Allreduce(&own, &sum, 1, layer_int, layer_sum, layer_world);
        if (sum != size * i + size * (size - 1) / 2) {
            fprintf(stderr, "WRONG: %d in call %d\n", sum, i);
            abort();
        }
        MPI_Barrier(layer_world);
    }
    if (rank == 0) printf("ok\n"), fflush(stdout);
    MPI_Finalize();
    return 0;
}

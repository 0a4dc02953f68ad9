/* Prints a hash of the bits of many reductions' results, which the test compares between runs: of sums
 * that round, in another order nearly all of them would differ.  same_bits [the longest count] */
#include <complex.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_elements = 1 << 17 };
static int rank, size;
static char *input, *output;
static size_t room;

static double number(int r, int i) {
    uint64_t h = (uint64_t)(r + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)(i + 1) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
    h *= 0x94d049bb133111ebu;
    h ^= h >> 32;
    return 0.5 + (double)(h >> 12) / (double)(1ull << 52);
}

static void show(const char* what, int count, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u, *all = malloc((size_t)size * sizeof *all);
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ (unsigned char)output[i]) * 0x100000001b3u;
    PMPI_Gather(&hash, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        hash = 0;
        for (int r = 0; r < size; ++r) hash = (hash ^ all[r]) * 0x100000001b3u;
        printf("%s %d %016llx\n", what, count, (unsigned long long)hash);
    }
    free(all);
    memset(output, 0, room);
}

static void average(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((double*)inout)[i] = 0.3 * ((double*)in)[i] + 0.7 * ((double*)inout)[i];
}
static void sum(void* in, void* inout, int* count, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((double*)inout)[i] += ((double*)in)[i];
}

static void all_operations(const char* name, int count, MPI_Datatype type, MPI_Op op) {
    char what[64];
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    const size_t length = (size_t)count * (size_t)bytes;
#define SHOW(operation, length) \
    snprintf(what, sizeof what, "%s %s", operation, name); \
    show(what, count, length)
    MPI_Allreduce(input, output, count, type, op, MPI_COMM_WORLD);
    SHOW("allreduce", length);
    MPI_Reduce(input, output, count, type, op, size - 1, MPI_COMM_WORLD);
    SHOW("reduce", length);
    MPI_Scan(input, output, count, type, op, MPI_COMM_WORLD);
    SHOW("scan", length);
    MPI_Exscan(input, output, count, type, op, MPI_COMM_WORLD);
    SHOW("exscan", rank == 0 ? 0 : length);
    MPI_Request request;
    MPI_Iallreduce(input, output, count, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    SHOW("iallreduce", length);
    /* Blocks of this many elements, as far as there is input. */
    if ((size_t)count * (size_t)size > most_elements) return;
    MPI_Reduce_scatter_block(input, output, count, type, op, MPI_COMM_WORLD);
    SHOW("reduce_scatter_block", length);
    int* counts = malloc((size_t)size * sizeof *counts);
    for (int r = 0; r < size; ++r) counts[r] = r % 2 ? count : (count + 1) / 2;
    MPI_Reduce_scatter(input, output, counts, type, op, MPI_COMM_WORLD);
    SHOW("reduce_scatter", (size_t)counts[rank] * (size_t)bytes);
    free(counts);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int longest = argc > 1 ? atoi(argv[1]) : most_elements;
    room = most_elements * sizeof(long double complex);
    input = malloc(room);
    output = calloc(room, 1);
    for (int i = 0; i < most_elements; ++i) ((double*)input)[i] = number(rank, i);

    MPI_Op commutes, does_not;
    MPI_Op_create(sum, 1, &commutes);
    MPI_Op_create(average, 0, &does_not);
    const int counts[] = {1, 3, 100, 200, 500, 1500, 2100, 4100, 7000, 20000, most_elements};
    for (size_t i = 0; i < sizeof counts / sizeof *counts && counts[i] <= longest; ++i) {
        all_operations("sum", counts[i], MPI_DOUBLE, MPI_SUM);
        if (i % 3 == 1) all_operations("user", counts[i], MPI_DOUBLE, commutes);
        if (i % 3 == 1) all_operations("ordered", counts[i], MPI_DOUBLE, does_not);
    }
    all_operations("product", 100, MPI_DOUBLE, MPI_PROD);
    all_operations("complex", 100, MPI_C_DOUBLE_COMPLEX, MPI_PROD);
    for (int i = 0; i < most_elements; ++i) ((float*)input)[i] = (float)number(rank, i);
    all_operations("float", 100, MPI_FLOAT, MPI_SUM);
    for (int i = 0; i < 4096; ++i) ((int*)input)[i] = rank * i;
    all_operations("int", 100, MPI_INT, MPI_SUM);

    MPI_Op_free(&commutes);
    MPI_Op_free(&does_not);
    free(input);
    free(output);
    if (rank == 0) printf("ok\n");
    MPI_Finalize();
    return 0;
}

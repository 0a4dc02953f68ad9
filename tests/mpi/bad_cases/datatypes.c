// Datatypes whose bytes lie in disorder without a gap, or far apart, that have gaps or no bytes, or places of their own;
// and elements that are longer than what is passed between nodes at once.
#include "case.h"

enum { N = 3 };

// A block in the memory of its owner, one without gaps at the others.
static void gathered(int first, int second) {
    MPI_Datatype type;
    const int places[] = {first, second};
    const int low = first < second ? first : second, width = first + second - 2 * low + 1;
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    int *memory = calloc((size_t)(N * width + low), sizeof(int)), *all = malloc(sizeof(int) * 2 * N * (size_t)size);
    for (int i = 0; i < N; ++i) memory[i * width + first] = 100 * rank + i, memory[i * width + second] = -100 * rank - i;
    MPI_Allgather(memory, N, type, all, 2 * N, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < N; ++i) REQUIRE(all[2 * (r * N + i)] == 100 * r + i && all[2 * (r * N + i) + 1] == -100 * r - i);
    memset(memory, 0, sizeof(int) * (size_t)(N * width + low));
    MPI_Scatter(all, 2 * N, MPI_INT, memory, N, type, 0, MPI_COMM_WORLD);
    for (int i = 0; i < N; ++i) REQUIRE(memory[i * width + first] == 100 * rank + i && memory[i * width + second] == -100 * rank - i);
    free(memory), free(all);
    MPI_Type_free(&type);
}

// Two halves, each in order, that lie the other way round: whoever looks at a few bytes of each place alone takes them for
// what lies packed.
static void halves(int length) {
    MPI_Datatype type;
    MPI_Type_create_indexed_block(2, length, (const int[]){length, 0}, MPI_INT, &type);
    MPI_Type_commit(&type);
    int *memory = malloc(sizeof(int) * 2 * (size_t)length), *all = malloc(sizeof(int) * 2 * (size_t)length * (size_t)size);
    for (int i = 0; i < 2 * length; ++i) memory[i] = 2 * length * rank + (i + length) % (2 * length);
    MPI_Allgather(memory, 1, type, all, 2 * length, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * length * size; ++i) REQUIRE(all[i] == i);
    free(memory), free(all);
    MPI_Type_free(&type);
}

static void add(void *in, void *inout, int *items, MPI_Datatype *type) {
    int bytes;
    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *items * (bytes / (int)sizeof(double)); ++i) ((double *)inout)[i] += ((double *)in)[i];
}

static void reduced(int length) {
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(length, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add, 1, &op);
    const int n = length * size;
    double *in = malloc(sizeof(double) * (size_t)n), *out = malloc(sizeof(double) * (size_t)n);
    for (int i = 0; i < n; ++i) in[i] = rank + i;
    MPI_Scan(in, out, size, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) REQUIRE(out[i] == rank * (rank + 1) / 2 + (double)i * (rank + 1));
    MPI_Exscan(in, out, size, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < n && rank > 0; ++i) REQUIRE(out[i] == rank * (rank - 1) / 2 + (double)i * rank);
    MPI_Allreduce(in, out, size, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) REQUIRE(out[i] == size * (size - 1) / 2 + (double)i * size);
    MPI_Reduce_scatter_block(in, out, 1, type, op, MPI_COMM_WORLD);
    for (int i = 0; i < length; ++i) REQUIRE(out[i] == size * (size - 1) / 2 + (double)(rank * length + i) * size);
    free(in), free(out);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

// The last rank gives pairs, the others ints, of which they have none; and nobody has any in every other call.
static void pairs(void) {
    struct pair {
        double value;
        int index;
    } mine[3] = {{0, 0}}, all[3];
    int counts[64] = {0};
    const int places[64] = {0}, last = size - 1;
    for (int i = 0; i < 3; ++i) mine[i].value = 0.5 * i, mine[i].index = i;
    for (int call = 0; call < 4; ++call) {
        const int n = counts[last] = call % 2 ? 3 : 0;
        memset(all, 0, sizeof all);
        MPI_Allgatherv(mine, rank == last ? n : 0, rank == last ? MPI_DOUBLE_INT : MPI_INT, all, counts, places, MPI_DOUBLE_INT, MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) REQUIRE(all[i].value == mine[i].value && all[i].index == i);
    }
}

// Both buffers have one address, and only the datatypes say where the elements are: one, and behind it those of all.
static void from_one_address(void *address, MPI_Datatype type, MPI_Datatype type_of_all, int *one, int *all) {
    int counts[64], places[64];
    for (int r = 0; r < size; ++r) counts[r] = 1, places[r] = r;
    for (int call = 0; call < 6; ++call) {
        const int scatters = call >= 4;
        *one = scatters ? 0 : 100 + rank;
        for (int r = 0; r < size; ++r) all[r] = scatters ? 100 + r : 0;
        if (call == 0) MPI_Gather(address, 1, type, address, 1, type_of_all, 0, MPI_COMM_WORLD);
        if (call == 1) MPI_Gatherv(address, 1, type, address, counts, places, type_of_all, 0, MPI_COMM_WORLD);
        if (call == 2) MPI_Allgather(address, 1, type, address, 1, type_of_all, MPI_COMM_WORLD);
        if (call == 3) MPI_Allgatherv(address, 1, type, address, counts, places, type_of_all, MPI_COMM_WORLD);
        if (call == 4) MPI_Scatter(address, 1, type_of_all, address, 1, type, 0, MPI_COMM_WORLD);
        if (call == 5) MPI_Scatterv(address, counts, places, type_of_all, address, 1, type, 0, MPI_COMM_WORLD);
        REQUIRE(*one == 100 + rank);
        for (int r = 0; r < size; ++r) REQUIRE(all[r] == (call < 2 && rank != 0 ? 0 : 100 + r));
    }
}

static MPI_Datatype displaced(MPI_Aint place) {
    const int one = 1;
    MPI_Datatype there, type;
    MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &there);
    MPI_Type_create_resized(there, 0, sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&there);
    return type;
}

static void one_address(void) {
    int memory[65] = {0}, *const all = &memory[1];
    MPI_Aint place, place_of_all;
    MPI_Get_address(memory, &place);
    MPI_Get_address(all, &place_of_all);
    MPI_Datatype absolute = displaced(place), all_absolute = displaced(place_of_all), behind = displaced(sizeof(int));
    from_one_address(MPI_BOTTOM, absolute, all_absolute, memory, all);
    from_one_address(memory, MPI_INT, behind, memory, all);
    MPI_Type_free(&absolute), MPI_Type_free(&all_absolute), MPI_Type_free(&behind);
}

static void without_bytes(void) {
    MPI_Datatype nothing;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    int in = 1, out = 2, three[64];
    const int places[64] = {0};
    for (int r = 0; r < size; ++r) three[r] = 3;
    MPI_Gatherv(&in, 3, nothing, &out, three, places, nothing, 0, MPI_COMM_WORLD);
    MPI_Scatterv(&in, three, places, nothing, &out, 3, nothing, 0, MPI_COMM_WORLD);
    REQUIRE(out == 2);
    MPI_Type_free(&nothing);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    without_bytes();  // first: no memory for packed bytes is there yet
    for (int call = 0; call < 4; ++call) {
        gathered(1, 0);
        gathered(0, 1);
        gathered(0, 20000);
        gathered(70000, 3);
        halves(64);
        halves(16384);
        reduced(513);
        reduced(100000);
        pairs();
        one_address();
    }
    return done();
}

// Buffers in a GPU's memory: device_memory staged [late]; or buffers in the host's, by a program that has loaded a GPU's
// driver: device_memory plain.  DRIVER names the driver's file (tools/driver.c).
#include "case.h"

#include <dlfcn.h>
#include <stdint.h>

enum { N = 300, MOST = 16 };
static int (*allocate)(uint64_t *, size_t), (*copy)(uint64_t, uint64_t, size_t), (*push)(void *), (*pop)(void **);
static void *driver;

static void load(void) {
    driver = dlopen(getenv("DRIVER"), RTLD_NOW | RTLD_LOCAL);
    if (!driver) return (void)fprintf(stderr, "%s\n", dlerror());
    allocate = (int (*)(uint64_t *, size_t))dlsym(driver, "cuMemAlloc_v2");
    copy = (int (*)(uint64_t, uint64_t, size_t))dlsym(driver, "cuMemcpy");
    push = (int (*)(void *))dlsym(driver, "cuCtxPushCurrent_v2");
    pop = (int (*)(void **))dlsym(driver, "cuCtxPopCurrent_v2");
}
static void copied(void *to, const void *from, size_t bytes) {
    static char context;
    void *before;
    push(&context);
    REQUIRE(copy((uint64_t)to, (uint64_t)from, bytes) == 0);
    pop(&before);
}

// Each rank has input and output of its own on the device, and on some ranks one of them is the host's.
static int host_in[MOST * N], host_out[MOST * N], *in, *out;
static int calls;

static void fill(void) {
    ++calls;
    for (int i = 0; i < MOST * N; ++i) host_in[i] = (rank + 1) * 1000 + i + calls, host_out[i] = -1;
    if (in != host_in) copied(in, host_in, sizeof host_in);
    if (out != host_out) copied(out, host_out, sizeof host_out);
}
static int given(int r, int i) { return (r + 1) * 1000 + i + calls; }
static int sum(int i) { return size * (size + 1) / 2 * 1000 + size * (i + calls); }
static const int *received(void) {
    static int result[MOST * N];
    if (out == host_out) return host_out;
    copied(result, out, sizeof result);
    return result;
}
#define CHECK(call, n, expected)                                             \
    do {                                                                     \
        fill();                                                              \
        REQUIRE((call) == MPI_SUCCESS);                                      \
        const int *got = received();                                         \
        for (int i = 0; i < (n); ++i)                                        \
            if (got[i] != (expected)) {                                      \
                fprintf(stderr, "WRONG rank %d, [%d] is %d, not %d\n", rank, i, got[i], (expected)); \
                REQUIRE(!#call);                                             \
            }                                                                \
    } while (0)

static int waited(int error, MPI_Request *request) {
    REQUIRE(error == MPI_SUCCESS);
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void all(MPI_Comm comm, MPI_Comm ring) {
    const int last = size - 1;
    int counts[MOST], places[MOST], before = (rank + size - 1) % size;
    for (int r = 0; r < size; ++r) counts[r] = N - r, places[r] = r * N;
    MPI_Request q;
    CHECK(MPI_Allreduce(in, out, N, MPI_INT, MPI_SUM, comm), N, sum(i));
    CHECK(MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, comm), 4, i < 3 ? sum(i) : -1);
    CHECK(MPI_Reduce(in, out, N, MPI_INT, MPI_SUM, last, comm), N, rank == last ? sum(i) : -1);
    CHECK(MPI_Scan(in, out, N, MPI_INT, MPI_MAX, comm), N, given(rank, i));
    CHECK(MPI_Exscan(in, out, N, MPI_INT, MPI_MAX, comm), N, rank ? given(rank - 1, i) : -1);
    CHECK(MPI_Reduce_scatter_block(in, out, N, MPI_INT, MPI_SUM, comm), N, sum(rank * N + i));
    CHECK(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), counts[rank], sum(rank * N - rank * (rank - 1) / 2 + i));
    CHECK(MPI_Allgather(in, N, MPI_INT, out, N, MPI_INT, comm), size * N, given(i / N, i % N));
    CHECK(MPI_Gather(in, N, MPI_INT, out, N, MPI_INT, last, comm), size * N, rank == last ? given(i / N, i % N) : -1);
    CHECK(MPI_Scatter(in, N, MPI_INT, out, N, MPI_INT, 0, comm), N, given(0, rank * N + i));
    CHECK(MPI_Alltoall(in, N, MPI_INT, out, N, MPI_INT, comm), size * N, given(i / N, rank * N + i % N));
    CHECK(MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm), size * N,
          i % N < counts[i / N] ? given(i / N, i % N) : -1);
    CHECK(MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, 0, comm), size * N,
          rank == 0 && i % N < counts[i / N] ? given(i / N, i % N) : -1);
    CHECK(MPI_Scatterv(in, counts, places, MPI_INT, out, counts[rank], MPI_INT, 0, comm), counts[rank], given(0, rank * N + i));
    int same[MOST];
    for (int r = 0; r < size; ++r) same[r] = N - 5;
    CHECK(MPI_Alltoallv(in, same, places, MPI_INT, out, same, places, MPI_INT, comm), size * N,
          i % N < N - 5 ? given(i / N, rank * N + i % N) : -1);
    CHECK(MPI_Neighbor_allgather(in, N, MPI_INT, out, N, MPI_INT, ring), N, given(before, i));
    CHECK(MPI_Neighbor_alltoallv(in, same, places, MPI_INT, out, same, places, MPI_INT, ring), N - 5, given(before, i));
    // Every second integer: what lies between is as it was.
    MPI_Datatype sparse;
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    CHECK(MPI_Allgather(in, 1, sparse, out, 1, sparse, comm), N - 1, i % 2 == 0 ? given(0, i) : -1);
    MPI_Type_free(&sparse);
    // The same memory, in and out.
    fill();
    if (out != host_out) copied(out, host_in, sizeof host_in);
    else memcpy(host_out, host_in, sizeof host_in);
    REQUIRE(MPI_Allreduce(MPI_IN_PLACE, out, N, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < N; ++i) REQUIRE(received()[i] == sum(i));
    REQUIRE(MPI_Bcast(out, N, MPI_INT, last, comm) == MPI_SUCCESS);
    for (int i = 0; i < N; ++i) REQUIRE(received()[i] == sum(i));
    // Started.
    CHECK(waited(MPI_Iallreduce(in, out, N, MPI_INT, MPI_SUM, comm, &q), &q), N, sum(i));
    CHECK(waited(MPI_Ialltoall(in, N, MPI_INT, out, N, MPI_INT, comm, &q), &q), size * N, given(i / N, rank * N + i % N));
#if MPI_VERSION >= 4
    MPI_Allreduce_init(in, out, N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &q);
    for (int start = 0; start < 3; ++start) CHECK(waited(MPI_Start(&q), &q), N, sum(i));
    MPI_Request_free(&q);
#endif
}

int main(int argc, char **argv) {
    const int staged = argc > 1 && strcmp(argv[1], "staged") == 0, late = argc > 2;
    if (!late) load();
    begin(&argc, &argv);
    const int next[1] = {(rank + 1) % size}, before[1] = {(rank + size - 1) % size};
    MPI_Comm ring;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, before, MPI_UNWEIGHTED, 1, next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    for (int i = 0; late && i < 40; ++i) checked_allreduce(MPI_COMM_WORLD, i, 3), checked_allreduce(ring, i, 300);
    if (late) load();
    REQUIRE(driver);
    in = host_in, out = host_out;
    for (int round = 0; staged && round < 3; ++round) {
        uint64_t a, b;
        REQUIRE(allocate(&a, sizeof host_in) == 0 && allocate(&b, sizeof host_out) == 0);
        in = round == 1 && rank == 0 ? host_in : (int *)a;
        out = round == 2 && rank == size - 1 ? host_out : (int *)b;
        all(MPI_COMM_WORLD, ring);
    }
    in = host_in, out = host_out;
    all(MPI_COMM_WORLD, ring);
    MPI_Comm_free(&ring);
    return done();
}

// Buffers in a GPU's memory: device_memory staged [late]; or buffers in the host's, by a program that has loaded a
// GPU's driver: device_memory plain.  DRIVER names the driver's file: CUDA's own, or tools/driver.c without a GPU.
#include "case.h"

#include <dlfcn.h>
#include <stdint.h>

enum { N = 300, MOST = 16, NON_BLOCKING = 1 };
static int (*initialize)(unsigned), (*get_device)(int *, int), (*retain)(void **, int), (*push)(void *),
    (*pop)(void **), (*get_current)(void **), (*allocate)(uint64_t *, size_t), (*create_stream)(void **, unsigned),
    (*copy)(uint64_t, uint64_t, size_t, void *), (*wait_for)(void *);
static void *context, *stream;
static int loaded;

// Perhaps before MPI_Init: who calls it looks at `loaded` later.
static void load(void) {
    const char *name = getenv("DRIVER");
    void *driver = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!driver) return (void)fprintf(stderr, "%s\n", name ? dlerror() : "DRIVER is not set");
    const struct {
        void *function;
        const char *name;
    } functions[] = {{&initialize, "cuInit"}, {&get_device, "cuDeviceGet"}, {&retain, "cuDevicePrimaryCtxRetain"},
                     {&push, "cuCtxPushCurrent_v2"}, {&pop, "cuCtxPopCurrent_v2"}, {&get_current, "cuCtxGetCurrent"},
                     {&allocate, "cuMemAlloc_v2"}, {&create_stream, "cuStreamCreate"}, {&copy, "cuMemcpyAsync"},
                     {&wait_for, "cuStreamSynchronize"}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)
        if (!(*(void **)functions[i].function = dlsym(driver, functions[i].name)))
            return (void)fprintf(stderr, "%s\n", dlerror());
    int device;
    void *popped;
    const char *failed = "cuInit";
    int error = initialize(0);
    if (!error) failed = "cuDeviceGet", error = get_device(&device, 0);
    if (!error) failed = "cuDevicePrimaryCtxRetain", error = retain(&context, device);
    if (!error) failed = "cuCtxPushCurrent", error = push(context);
    if (!error) failed = "cuStreamCreate", error = create_stream(&stream, NON_BLOCKING);
    if (!error) failed = "cuCtxPopCurrent", error = pop(&popped);
    if (error) return (void)fprintf(stderr, "%s: error %d\n", failed, error);
    loaded = 1;
}

// The program's own use of the device: it has a context only meanwhile.
static void enter(void) { REQUIRE(push(context) == 0); }
static void leave(void) {
    void *before;
    REQUIRE(pop(&before) == 0 && before == context);
}
static int *allocated(size_t bytes) {
    uint64_t place;
    enter();
    REQUIRE(allocate(&place, bytes) == 0);
    leave();
    return (int *)place;
}
// In a stream that does not wait for the default one's copies, as a program may read what MPI has given it.
static void copied(void *to, const void *from, size_t bytes) {
    enter();
    REQUIRE(copy((uint64_t)to, (uint64_t)from, bytes, stream) == 0);
    REQUIRE(wait_for(stream) == 0);
    leave();
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
    REQUIRE(loaded);
    in = host_in, out = host_out;
    for (int round = 0; staged && round < 3; ++round) {
        int *const a = allocated(sizeof host_in), *const b = allocated(sizeof host_out);
        in = round == 1 && rank == 0 ? host_in : a;
        out = round == 2 && rank == size - 1 ? host_out : b;
        // The thread has a context while it calls MPI in one round, and none in the others; MPI leaves it as it was.
        void *current;
        if (round == 1) enter();
        all(MPI_COMM_WORLD, ring);
        REQUIRE(get_current(&current) == 0 && current == (round == 1 ? context : NULL));
        if (round == 1) leave();
    }
    in = host_in, out = host_out;
    all(MPI_COMM_WORLD, ring);
    MPI_Comm_free(&ring);
    return done();
}

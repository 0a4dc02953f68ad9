// Collectives on buffers in the memory of one GPU, device 0, under an MPI library that need not know of GPUs. Blocks of
// calls alternate between four ways, so that a drift of the machine hits all. A block lasts about two milliseconds, and
// its time is the longest of all ranks. The figures are medians over the blocks.
//
//   staged   MPI_Xxx on the device's buffers: Fanlight with FANLIGHT_GPU=stage
//   by_hand  what a program would do otherwise: cuMemcpy to buffers of the host, PMPI_Xxx on these, cuMemcpy back;
//            unlike `staged` it does not wait for the stream
//   copies   the two copies of by_hand alone
//   host     MPI_Xxx on buffers of the host: Fanlight without copies
//
// Before it is timed, the result of `staged` is compared with that of `by_hand`, all bytes.
//
//   LD_PRELOAD=libfanlight-mpich.so FANLIGHT_GPU=stage mpiexec -n 2 fanlight-bench-device-mpich
//
// Without a GPU, to try it: gcc -O1 -shared -fPIC -pthread -o /tmp/libcuda.so.1 tests/mpi/tools/driver.c, and
// --driver=/tmp/libcuda.so.1.
#include "operations.h"
#include "run_line.h"
#include "shared.h"
#include "statistics.h"

#include <dlfcn.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZES = 64, MAX_OPERATIONS = 32, MAX_BLOCKS = 1000, WARM_CALLS = 50 };
enum { STAGED, BY_HAND, COPIES, HOST, WAYS };
static const char *const way_names[WAYS] = {"staged", "by_hand", "copies", "host"};
static const double BLOCK = 2e-3; // seconds

static const char usage[] =
    "usage: fanlight-bench-device-<mpi> [options], started by that MPI's launcher, with Fanlight preloaded\n"
    "and FANLIGHT_GPU=stage\n"
    "  -d, --driver=FILE         CUDA's driver (default libcuda.so.1)\n"
    "  -o, --operations=A,B,...  which (default allreduce,bcast,allgather,alltoall)\n"
    "  -s, --sizes=8,1K,64K      bytes of the vector, or of each rank's block: multiples of 8\n"
    "                            (default 8,1K,64K,1M,4M)\n"
    "  -b, --blocks=N            blocks of each way (default 15)\n"
    "  -p, --pinned              the host's buffers are page-locked (cuMemHostRegister)\n"
    "  -B, --bind                each rank to a core of its own, if there are enough\n";

typedef struct Options {
    const char *driver;
    const Operation *operations[MAX_OPERATIONS];
    int operation_count;
    size_t sizes[MAX_SIZES];
    int size_count;
    int blocks;
    bool pinned, bind;
} Options;

// All blocks together have a count that MPI takes.
static bool parse_lengths(char *text, Options *o, int ranks)
{
    o->size_count = parse_sizes(text, o->sizes, MAX_SIZES);
    for (int i = 0; i < o->size_count; ++i)
        if (o->sizes[i] * (size_t)ranks >= (size_t)1 << 31)
            return false;
    return o->size_count > 0;
}

static bool parse_operations(char *text, Options *o)
{
    o->operation_count = 0;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        const Operation *operation = operation_named(word);
        if (!operation || !operation->has_size || on_ring(operation) || o->operation_count == MAX_OPERATIONS)
            return false;
        o->operations[o->operation_count++] = operation;
    }
    return o->operation_count > 0;
}

static bool parse_options(int argc, char **argv, Options *o, int ranks)
{
    static const struct option names[] = {{"driver", 1, 0, 'd'}, {"operations", 1, 0, 'o'}, {"sizes", 1, 0, 's'},
                                          {"blocks", 1, 0, 'b'}, {"pinned", 0, 0, 'p'},     {"bind", 0, 0, 'B'},
                                          {"help", 0, 0, 'h'},   {0, 0, 0, 0}};
    static char default_operations[] = "allreduce,bcast,allgather,alltoall", default_sizes[] = "8,1K,64K,1M,4M";
    *o = (Options){.driver = "libcuda.so.1", .blocks = 15};
    bool good = parse_operations(default_operations, o) && parse_lengths(default_sizes, o, ranks);
    for (int c; good && (c = getopt_long(argc, argv, "d:o:s:b:pBh", names, NULL)) != -1;)
        switch (c) {
        case 'd': o->driver = optarg; break;
        case 'o': good = parse_operations(optarg, o); break;
        case 's': good = parse_lengths(optarg, o, ranks); break;
        case 'b': o->blocks = atoi(optarg); good = o->blocks > 0 && o->blocks <= MAX_BLOCKS; break;
        case 'p': o->pinned = true; break;
        case 'B': o->bind = true; break;
        default: good = false;
        }
    return good && optind == argc;
}

// ---- the device -------------------------------------------------------------------------------

static struct {
    int (*Init)(unsigned);
    int (*DeviceGet)(int *, int);
    int (*DevicePrimaryCtxRetain)(void **, int);
    int (*CtxPushCurrent)(void *);
    int (*CtxSynchronize)(void);
    int (*MemAlloc)(uint64_t *, size_t);
    int (*MemHostRegister)(void *, size_t, unsigned);
    int (*Memcpy)(uint64_t, uint64_t, size_t);
} cuda;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "fanlight-bench-device: %s: %s\n", what, why);
    fflush(NULL);
    PMPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static void check(int error, const char *function)
{
    if (error == 0)
        return;
    char text[32];
    snprintf(text, sizeof text, "CUDA error %d", error);
    stop(function, text);
}

// The context stays current for this thread.
static void open_device(const char *file)
{
    void *driver = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!driver)
        stop("the driver", dlerror());
    const struct {
        void *function;
        const char *name;
    } functions[] = {{&cuda.Init, "cuInit"},
                     {&cuda.DeviceGet, "cuDeviceGet"},
                     {&cuda.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"},
                     {&cuda.CtxPushCurrent, "cuCtxPushCurrent_v2"},
                     {&cuda.CtxSynchronize, "cuCtxSynchronize"},
                     {&cuda.MemAlloc, "cuMemAlloc_v2"},
                     {&cuda.MemHostRegister, "cuMemHostRegister_v2"},
                     {&cuda.Memcpy, "cuMemcpy"}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i)
        if (!(*(void **)functions[i].function = dlsym(driver, functions[i].name)))
            stop("the driver", dlerror());
    int device;
    void *context;
    check(cuda.Init(0), "cuInit");
    check(cuda.DeviceGet(&device, 0), "cuDeviceGet");
    check(cuda.DevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuda.CtxPushCurrent(context), "cuCtxPushCurrent");
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (bytes)
        check(cuda.Memcpy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes), "cuMemcpy");
}

// ---- the four ways ----------------------------------------------------------------------------

typedef struct Bench {
    Options options;
    Shared shared;
    Call host, device; // the same call, on buffers there
    int *counts, *displacements;
    unsigned char *result[2];
    int calls_checked;
} Bench;

static bool is_bcast(const Operation *operation)
{
    return operation->send == NOTHING && operation->receive == ONE;
}

static size_t size_of(const Bench *b, const Operation *operation)
{
    return (size_t)b->host.count * (operation->reduces ? sizeof(double) : 1);
}

// What this rank gives, to the host.
static void fetch(Bench *b, const Operation *operation)
{
    size_t size = size_of(b, operation);
    if (operation->rooted && operation->send == EVERY && b->shared.rank != b->host.root)
        return;
    if (!is_bcast(operation))
        copy(b->host.send, b->device.send, send_bytes(operation, size, b->shared.ranks));
    else if (b->shared.rank == b->host.root)
        copy(b->host.receive, b->device.receive, size);
}

// What it gets, to the device.
static void store(Bench *b, const Operation *operation)
{
    size_t size = size_of(b, operation);
    bool root = b->shared.rank == b->host.root;
    if (operation->rooted && (is_bcast(operation) ? root : operation->send != EVERY && !root))
        return;
    copy(b->device.receive, b->host.receive, receive_bytes(operation, size, b->shared.ranks));
}

static void call_once(Bench *b, const Operation *operation, int way)
{
    int error = MPI_SUCCESS;
    switch (way) {
    case STAGED: error = operation->call[FANLIGHT](&b->device); break;
    case HOST: error = operation->call[FANLIGHT](&b->host); break;
    default:
        fetch(b, operation);
        if (way == BY_HAND)
            error = operation->call[NATIVE](&b->host);
        store(b, operation);
    }
    if (error != MPI_SUCCESS)
        stop(operation->name, "an MPI error");
}

// Seconds for so many calls: the longest of all ranks. All ranks get the same.
static double time_block(Bench *b, const Operation *operation, int way, long calls)
{
    check(cuda.CtxSynchronize(), "cuCtxSynchronize"); // nothing of the block before is left
    shared_meet(&b->shared, false);
    double begin = now();
    for (long i = 0; i < calls; ++i)
        call_once(b, operation, way);
    return agreed_maximum(&b->shared, now() - begin);
}

static long calls_to_fill(double each)
{
    double calls = BLOCK / each;
    return calls < 1 ? 1 : calls > 1e6 ? 1000000 : (long)(calls + 0.5);
}

static long calibrate(Bench *b, const Operation *operation, int way)
{
    double spent = 0;
    for (int i = 0; i < WARM_CALLS && spent < 0.1; i += 10)
        spent += time_block(b, operation, way, 10);
    for (long calls = 1;; calls *= 4) {
        double best = 1e9;
        for (int attempt = 0; attempt < 3; ++attempt) {
            double taken = time_block(b, operation, way, calls);
            best = taken < best ? taken : best;
        }
        if (best >= BLOCK / 4 || calls > 1000000)
            return calls_to_fill(best / (double)calls);
    }
}

static void measure(Bench *b, const Operation *operation)
{
    static double each[WAYS][MAX_BLOCKS];
    long calls[WAYS];
    int blocks = b->options.blocks;
    for (int way = 0; way < WAYS; ++way)
        calls[way] = calibrate(b, operation, way);
    for (int i = 0; i < blocks; ++i)
        for (int turn = 0; turn < WAYS; ++turn) {
            int way = (turn + i) % WAYS; // none is always the first
            each[way][i] = time_block(b, operation, way, calls[way]) / (double)calls[way];
        }
    if (b->shared.rank != 0)
        return;
    printf("{\"type\":\"device\",\"operation\":\"%s\",\"size\":%zu,\"of\":\"%s\",\"ranks\":%d,\"blocks\":%d,"
           "\"pinned\":%s,\"unit\":\"us\"",
           operation->name, size_of(b, operation),
           operation->send > ONE || operation->receive > ONE ? "block" : "vector", b->shared.ranks, blocks,
           b->options.pinned ? "true" : "false");
    Statistics statistics[WAYS];
    for (int way = 0; way < WAYS; ++way) {
        statistics[way] = statistics_of(each[way], blocks);
        printf(",\"%s_calls\":%ld,\"%s\":", way_names[way], calls[way], way_names[way]);
        statistics_write(stdout, statistics[way]);
    }
    printf(",\"ratio\":%.4f}\n", statistics[BY_HAND].median / statistics[STAGED].median);
    fflush(stdout);
}

// ---- right before fast ------------------------------------------------------------------------

static size_t received_bytes(const Bench *b, const Operation *operation)
{
    return receive_bytes(operation, size_of(b, operation), b->shared.ranks) + BENCH_GUARD;
}

static bool all_ranks_right(Bench *b, const Operation *operation)
{
    size_t bytes = received_bytes(b, operation);
    int number = ++b->calls_checked & 0x7FF;
    long wrong = 0, all = 0;
    for (int way = STAGED; way <= BY_HAND; ++way) {
        prepare(operation, &b->host, number);
        copy(b->device.send, b->host.send, send_bytes(operation, size_of(b, operation), b->shared.ranks));
        copy(b->device.receive, b->host.receive, bytes);
        if (way == STAGED) // what it gives must come from the device
            memset(b->host.send, 0x11, send_bytes(operation, size_of(b, operation), b->shared.ranks));
        call_once(b, operation, way);
        copy(b->result[way], b->device.receive, bytes);
    }
    for (size_t i = 0; i < bytes; ++i)
        wrong += b->result[STAGED][i] != b->result[BY_HAND][i];
    long wrong_by_hand = wrong_words(operation, &b->host, number);
    wrong += wrong_by_hand;
    if (wrong)
        fprintf(stderr, "WRONG: %s of %zu bytes, rank %d: %ld bytes of staged differ, %ld words of by_hand are wrong\n",
                operation->name, size_of(b, operation), b->shared.rank, wrong - wrong_by_hand, wrong_by_hand);
    PMPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, b->shared.control);
    if (all && b->shared.rank == 0)
        printf("{\"type\":\"wrong\",\"operation\":\"%s\",\"size\":%zu,\"side\":\"staged\",\"bytes\":%ld}\n",
               operation->name, size_of(b, operation), all);
    return all == 0;
}

// ---- the run ----------------------------------------------------------------------------------

static void set_problem(Bench *b, const Operation *operation, size_t size)
{
    Call *c = &b->host;
    c->type = operation->reduces ? MPI_DOUBLE : MPI_BYTE;
    c->count = (int)(operation->reduces ? size / sizeof(double) : size);
    for (int r = 0; r < c->ranks; ++r) {
        b->counts[r] = c->count;
        b->displacements[r] = r * c->count;
    }
    b->device.type = c->type;
    b->device.count = c->count;
}

static void *host_buffer(const Bench *b, size_t bytes)
{
    void *memory;
    if (posix_memalign(&memory, 4096, bytes) != 0)
        stop("the host", "no memory for the buffers");
    memset(memory, 0, bytes);
    if (b->options.pinned)
        check(cuda.MemHostRegister(memory, bytes, 0), "cuMemHostRegister");
    return memory;
}

static void *device_buffer(size_t bytes)
{
    uint64_t place;
    check(cuda.MemAlloc(&place, bytes), "cuMemAlloc");
    return (void *)(uintptr_t)place;
}

static void allocate_buffers(Bench *b)
{
    const Options *o = &b->options;
    size_t largest = 0;
    for (int i = 0; i < o->size_count; ++i)
        largest = o->sizes[i] > largest ? o->sizes[i] : largest;
    size_t bytes = largest * (size_t)b->shared.ranks + BENCH_GUARD; // operations have a block for each rank at most
    b->host.send = host_buffer(b, bytes), b->host.receive = host_buffer(b, bytes);
    b->result[STAGED] = host_buffer(b, bytes), b->result[BY_HAND] = host_buffer(b, bytes);
    b->counts = malloc(sizeof *b->counts * (size_t)b->shared.ranks);
    b->displacements = malloc(sizeof *b->displacements * (size_t)b->shared.ranks);
    b->host.counts = b->counts, b->host.displacements = b->displacements;
    b->device = b->host;
    b->device.send = device_buffer(bytes), b->device.receive = device_buffer(bytes);
}

static bool run(Bench *b)
{
    const Options *o = &b->options;
    for (int i = 0; i < o->operation_count; ++i)
        for (int j = 0; j < o->size_count; ++j) {
            set_problem(b, o->operations[i], o->sizes[j]);
            if (!all_ranks_right(b, o->operations[i]))
                return false;
            measure(b, o->operations[i]);
        }
    return true;
}

// Without Fanlight the MPI library would take the device's buffers for the host's.
static const char *not_staged(void)
{
    const char *gpu = getenv("FANLIGHT_GPU");
    if (!dlsym(RTLD_DEFAULT, "fanlight_set_algorithm"))
        return "Fanlight is not preloaded";
    return gpu && strcmp(gpu, "stage") == 0 ? NULL : "FANLIGHT_GPU=stage is not set";
}

int main(int argc, char **argv)
{
    static Bench b;
    MPI_Init(&argc, &argv);
    shared_open(&b.shared);
    bool first = b.shared.rank == 0, right = false;
    opterr = first; // one complaint is enough
    b.host = (Call){.comm = MPI_COMM_WORLD, .rank = b.shared.rank, .ranks = b.shared.ranks, .ring = MPI_COMM_NULL};
    const char *why = not_staged();
    why = why ? why : b.shared.ranks < 2 ? "two ranks at least" : b.shared.nodes > 1 ? "all ranks on one node" : NULL;
    if (!parse_options(argc, argv, &b.options, b.shared.ranks)) {
        if (first)
            fputs(usage, stderr);
    } else if (why) {
        if (first)
            fprintf(stderr, "fanlight-bench-device: %s\n", why);
    } else {
        bool bound = b.options.bind && shared_bind(&b.shared);
        open_device(b.options.driver);
        allocate_buffers(&b);
        if (first)
            write_run_line(stdout, &b.shared, bound, b.options.operation_count * b.options.size_count);
        right = run(&b);
    }
    shared_close(&b.shared);
    MPI_Finalize();
    return right ? 0 : 2;
}

// Times each collective operation by the MPI library (PMPI_Xxx) and by Fanlight (MPI_Xxx, when it
// is preloaded) in turn inside one run, and writes JSON lines.
//
// Blocks of k calls alternate between the two sides, so that a drift of the machine hits both; k
// makes a block last about two milliseconds. The time of a block is the longest of all ranks.
// Before each block the ranks meet through flags in shared memory, without MPI.
//
// Mode `loop` calls back to back, as IMB does: the root of a broadcast runs ahead then, and its
// figure is the rate at which calls follow each other. Mode `sync` puts a barrier of the same side
// after each call. Operations that synchronize by themselves are always measured in a loop. In mode
// `fill` whoever sends fills the buffer before each call, as programs do, and the figure is that of
// both: what others have read, the stores must take back from their caches.
//
// Without a preload MPI_Xxx and PMPI_Xxx are the same function: all ratios must then be 1.
#include "exchange.h"
#include "limits.h"
#include "operations.h"
#include "run_line.h"
#include "statistics.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_SIZES = 64, MAX_OPERATIONS = 32, MAX_BLOCKS = 1000, WARM_CALLS = 50 };

typedef enum Mode { LOOP, SYNC, FILL, MODES } Mode;
static const char *const mode_names[MODES] = {"loop", "sync", "fill"};

typedef struct Options {
    const Operation *operations[MAX_OPERATIONS];
    int operation_count;
    size_t sizes[MAX_SIZES];
    int size_count;
    double seconds; // for everything; 0: a quarter of a second for each figure
    double block;   // seconds that a block should last
    int blocks;
    size_t memory; // bytes of buffers of a rank
    int root;
    bool modes[MODES];
    bool native_only, bind;
    bool alloc_mem; // buffers of MPI_Alloc_mem's
    int warm; // calls of Fanlight's before each figure
    bool results, limits, passthrough, exchange, guard;
    const char *output;
} Options;

static const char usage[] =
    "usage: fanlight-bench-<mpi> [options], started by that MPI's launcher\n"
    "  -o, --operations=A,B,...  which (default: the commonest; 'all')\n"
    "  -s, --sizes=8,64,1K,1M    bytes of the vector, or of each rank's block: multiples of 8\n"
    "  -m, --mode=MODE           loop, sync, both or fill (default loop)\n"
    "  -t, --seconds=S           time for everything (default: 0.25 s for each figure)\n"
    "  -b, --blocks=N            blocks per side (default 30)\n"
    "  -r, --root=RANK           root of rooted operations (default 0)\n"
    "  -M, --memory=BYTES        buffers of a rank; larger problems are left out (default 64M)\n"
    "  -a, --buffers=KIND        malloc (the default) or alloc_mem: of MPI_Alloc_mem\n"
    "  -B, --bind                each rank to a core of its own, if there are enough\n"
    "  -n, --native-only         only the MPI library's side\n"
    "  -l, --limits              only the physical limits between ranks 0 and 1\n"
    "  -L, --with-limits         the limits, then the operations\n"
    "  -p, --passthrough         only what the preload costs on a call that it passes on\n"
    "  -w, --warm=CALLS          so many calls of Fanlight's before each figure (default 0)\n"
    "  -g, --guard               only what the guard costs on a call once it has decided\n"
    "  -x, --exchange            only NEURON's exchange of spikes\n"
    "  -f, --output=FILE         JSON lines to FILE (default: standard output)\n";

// ---- options --------------------------------------------------------------------------------

static bool parse_operations(char *text, Options *o)
{
    bool all = strcmp(text, "all") == 0, defaults = strcmp(text, "default") == 0;
    o->operation_count = 0;
    if (all || defaults) {
        for (int i = 0; i < operation_count; ++i)
            if (all || operations[i].by_default)
                o->operations[o->operation_count++] = &operations[i];
        return true;
    }
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        const Operation *operation = operation_named(word);
        if (!operation || o->operation_count == MAX_OPERATIONS)
            return false;
        o->operations[o->operation_count++] = operation;
    }
    return o->operation_count > 0;
}

static bool parse_options(int argc, char **argv, Options *o)
{
    static const struct option names[] = {
        {"operations", 1, 0, 'o'}, {"sizes", 1, 0, 's'},       {"mode", 1, 0, 'm'},
        {"seconds", 1, 0, 't'},    {"blocks", 1, 0, 'b'},      {"root", 1, 0, 'r'},
        {"memory", 1, 0, 'M'},     {"native-only", 0, 0, 'n'}, {"limits", 0, 0, 'l'},
        {"with-limits", 0, 0, 'L'}, {"passthrough", 0, 0, 'p'}, {"output", 1, 0, 'f'},
        {"exchange", 0, 0, 'x'},   {"bind", 0, 0, 'B'},        {"help", 0, 0, 'h'},
        {"buffers", 1, 0, 'a'},    {"warm", 1, 0, 'w'},        {"guard", 0, 0, 'g'},
        {0, 0, 0, 0}};
    char default_operations[] = "default", default_sizes[] = "8,64,512,1K,4K,16K,64K,256K,512K,1M,4M";
    *o = (Options){.block = 2e-3, .blocks = 30, .memory = (size_t)64 << 20,
                   .modes = {[LOOP] = true}, .results = true};
    parse_operations(default_operations, o);
    o->size_count = parse_sizes(default_sizes, o->sizes, MAX_SIZES);
    for (int c; (c = getopt_long(argc, argv, "o:s:m:t:b:r:M:a:w:gBnlLpxf:h", names, NULL)) != -1;) {
        bool good = true;
        switch (c) {
        case 'o': good = parse_operations(optarg, o); break;
        case 's': good = (o->size_count = parse_sizes(optarg, o->sizes, MAX_SIZES)) > 0; break;
        case 'm':
            good = false;
            for (int m = 0; m < MODES; ++m) {
                o->modes[m] = strcmp(optarg, mode_names[m]) == 0 || (m != FILL && strcmp(optarg, "both") == 0);
                good |= o->modes[m];
            }
            break;
        case 't': o->seconds = atof(optarg); good = o->seconds > 0; break;
        case 'b': o->blocks = atoi(optarg); good = o->blocks > 0 && o->blocks <= MAX_BLOCKS; break;
        case 'r': o->root = atoi(optarg); good = o->root >= 0; break;
        case 'M': good = parse_bytes(optarg, &o->memory); break;
        case 'a':
            o->alloc_mem = strcmp(optarg, "alloc_mem") == 0;
            good = o->alloc_mem || strcmp(optarg, "malloc") == 0;
            break;
        case 'B': o->bind = true; break;
        case 'n': o->native_only = true; break;
        case 'l': o->limits = true; o->results = false; break;
        case 'L': o->limits = true; break;
        case 'p': o->passthrough = true; o->results = false; break;
        case 'g': o->guard = true; o->results = false; break;
        case 'w': o->warm = atoi(optarg); good = o->warm >= 0; break;
        case 'x': o->exchange = true; o->results = false; break;
        case 'f': o->output = optarg; break;
        default: good = false;
        }
        if (!good)
            return false;
    }
    return optind == argc;
}

// ---- the run --------------------------------------------------------------------------------

typedef struct Bench {
    Options options;
    Shared shared;
    Call call; // what all calls have in common; count and type are set for each problem
    int calls_checked;
    double cell_seconds;
    bool failed;
    FILE *out; // rank 0 alone
} Bench;

// Measured in a loop: also what synchronizes by itself, and in mode `fill` what has nothing to fill.
static bool is_measured(const Options *o, const Operation *operation, Mode mode)
{
    bool without_sync = operation->synchronizes, without_fill = !operation->has_size;
    if (mode == LOOP)
        return o->modes[LOOP] || (o->modes[SYNC] && without_sync) || (o->modes[FILL] && without_fill);
    return o->modes[mode] && !(mode == SYNC ? without_sync : without_fill);
}

static int figures_of(const Options *o)
{
    int figures = 0;
    for (int i = 0; i < o->operation_count; ++i) {
        const Operation *operation = o->operations[i];
        int modes = 0;
        for (int m = 0; m < MODES; ++m)
            modes += is_measured(o, operation, (Mode)m);
        figures += modes * (operation->has_size ? o->size_count : 1);
    }
    return figures;
}

// What this rank sends, with other values each time.
static void fill(const Operation *operation, const Call *call, size_t size)
{
    static uint64_t value;
    bool in_place = operation->send == NOTHING; // bcast
    uint64_t *words = in_place ? call->receive : call->send;
    size_t bytes = in_place ? size : send_bytes(operation, size, call->ranks);
    if (operation->rooted && (in_place || operation->send == EVERY) && call->rank != call->root)
        return;
    ++value;
    for (size_t i = 0; i < bytes / sizeof *words; ++i)
        if (operation->reduces)
            ((double *)words)[i] = (double)(value + i);
        else
            words[i] = value + i;
}

static void call_once(const Operation *operation, const Call *call, Side side, Mode mode, size_t size)
{
    static const Operation *barrier;
    if (!barrier)
        barrier = operation_named("barrier");
    if (mode == FILL)
        fill(operation, call, size);
    operation->call[side](call);
    if (mode == SYNC)
        barrier->call[side](call);
}

// Seconds for so many calls: the longest of all ranks. All ranks get the same.
static double time_block(Bench *bench, const Operation *operation, Side side, long calls, Mode mode)
{
    size_t size = (size_t)bench->call.count * (operation->reduces ? sizeof(double) : 1);
    shared_meet(&bench->shared, false);
    double begin = now();
    for (long i = 0; i < calls; ++i)
        call_once(operation, &bench->call, side, mode, size);
    return agreed_maximum(&bench->shared, now() - begin);
}

static long calls_to_fill(double seconds, double each)
{
    double calls = seconds / each;
    return calls < 1 ? 1 : calls > 1e6 ? 1000000 : (long)(calls + 0.5);
}

// How long a call takes, about: the best of three attempts, unless one call is slow already.
static double calibrate(Bench *bench, const Operation *operation, Side side, Mode mode)
{
    double target = bench->options.block;
    double taken = time_block(bench, operation, side, 1, mode);
    if (taken > 5 * target)
        return taken;
    for (long calls = 4;; calls *= 4) {
        double best = 1e9;
        for (int attempt = 0; attempt < 3; ++attempt) {
            taken = time_block(bench, operation, side, calls, mode);
            best = taken < best ? taken : best;
        }
        if (best >= target / 4 || calls > 1000000)
            return best / (double)calls;
    }
}

// How often the kernel took a process off its core: when each rank has a core of its own,
// another program was at work, and the figure deserves less trust.
static double interruptions_so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_nivcsw;
}

static void measure(Bench *bench, const Operation *operation, size_t size, Mode mode)
{
    const Options *o = &bench->options;
    int sides = o->native_only ? 1 : SIDES;
    long calls[SIDES] = {0, 0};
    if (o->warm)
        time_block(bench, operation, FANLIGHT, o->warm, mode);
    double round = 0; // seconds for a block of each side
    for (int side = 0; side < sides; ++side) {
        double each = calibrate(bench, operation, (Side)side, mode);
        calls[side] = calls_to_fill(o->block, each);
        round += each * (double)calls[side];
    }
    int blocks = o->blocks, fit = (int)(bench->cell_seconds / round) + 1;
    if (blocks > fit)
        blocks = fit;
    int least = round > bench->cell_seconds ? 3 : 5; // where a call takes a tenth of a second
    if (blocks < least)
        blocks = o->blocks < least ? o->blocks : least;

    double each[SIDES][MAX_BLOCKS];
    double interruptions = interruptions_so_far();
    for (int b = 0; b < blocks; ++b)
        for (int turn = 0; turn < sides; ++turn) {
            int side = (turn + b) % sides; // neither side is always the first
            double taken = time_block(bench, operation, (Side)side, calls[side], mode);
            while (taken < o->block / 3 && calls[side] < 1000000) {
                // It was calibrated in a disturbed moment. What so short a block shows is mostly
                // its own beginning: it does not count.
                calls[side] = 1 + calls_to_fill(o->block, taken / (double)calls[side]);
                taken = time_block(bench, operation, (Side)side, calls[side], mode);
            }
            each[side][b] = taken / (double)calls[side];
        }
    interruptions = agreed_maximum(&bench->shared, interruptions_so_far() - interruptions);
    if (bench->shared.rank != 0)
        return;

    FILE *out = bench->out;
    static const char *const names[SIDES] = {"native", "fanlight"};
    Statistics statistics[SIDES];
    fprintf(out,
            "{\"type\":\"result\",\"operation\":\"%s\",\"size\":%zu,\"of\":\"%s\",\"mode\":\"%s\","
            "\"ranks\":%d,\"blocks\":%d,\"interruptions\":%.0f",
            operation->name, size,
            operation->send > ONE || operation->receive > ONE ? "block" : "vector",
            mode_names[mode], bench->shared.ranks, blocks,
            interruptions);
    for (int side = 0; side < sides; ++side) {
        statistics[side] = statistics_of(each[side], blocks);
        fprintf(out, ",\"%s_calls\":%ld,\"%s\":", names[side], calls[side], names[side]);
        statistics_write(out, statistics[side]);
    }
    if (sides == SIDES)
        fprintf(out, ",\"ratio\":%.4f", statistics[NATIVE].median / statistics[FANLIGHT].median);
    fprintf(out, "}\n");
    fflush(out);
}

// ---- right before fast ----------------------------------------------------------------------

static void verify(Bench *bench, const Operation *operation, size_t size)
{
    static const char *const names[SIDES] = {"native", "fanlight"};
    int root = bench->call.root;
    int repeats = size <= 65536 ? 3 : 1;
    for (int side = 0; side < (bench->options.native_only ? 1 : SIDES); ++side) {
        long wrong = 0;
        for (int i = 0; i < repeats; ++i) {
            // The last check is with the root that is measured: its payload stays in the buffers.
            bench->call.root = (root + repeats - 1 - i) % bench->call.ranks;
            if (!operation->has_size) {
                barrier_enter(&bench->shared, ++bench->calls_checked);
                operation->call[side](&bench->call);
                wrong += barrier_early(&bench->shared, bench->calls_checked);
                continue;
            }
            int number = ++bench->calls_checked & 0x7FF;
            prepare(operation, &bench->call, number);
            operation->call[side](&bench->call);
            wrong += wrong_words(operation, &bench->call, number);
        }
        long all = 0;
        PMPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, bench->shared.control);
        if (all == 0)
            continue;
        bench->failed = true;
        if (bench->shared.rank == 0) {
            fprintf(bench->out,
                    "{\"type\":\"wrong\",\"operation\":\"%s\",\"size\":%zu,\"side\":\"%s\","
                    "\"words\":%ld}\n",
                    operation->name, size, names[side], all);
            fflush(bench->out);
        }
    }
    bench->call.root = root;
}

static bool fits(const Bench *bench, const Operation *operation, size_t size)
{
    size_t bytes = send_bytes(operation, size, bench->call.ranks) +
                   receive_bytes(operation, size, bench->call.ranks);
    return bytes <= bench->options.memory && size * (size_t)bench->call.ranks < (size_t)1 << 31;
}

// What happens once: connections, lazily made shared memory, Fanlight's start after so many calls
// on a communicator. That is over after its first operation; later ones stop when they are slow.
static void warm_up(Bench *bench, const Operation *operation)
{
    static bool started_on[2]; // MPI_COMM_WORLD, the ring
    bool *started = &started_on[on_ring(operation)];
    set_size(operation, &bench->call, 8);
    prepare(operation, &bench->call, 0);
    for (int side = bench->options.native_only ? NATIVE : FANLIGHT; side >= 0; --side) {
        double spent = 0;
        for (int i = 0; i < WARM_CALLS && (!*started || spent < 0.3); i += 10)
            spent += time_block(bench, operation, (Side)side, 10, LOOP);
    }
    *started = true;
}

static void measure_operation(Bench *bench, const Operation *operation)
{
    const Options *o = &bench->options;
    warm_up(bench, operation);
    for (int i = 0; i < (operation->has_size ? o->size_count : 1); ++i) {
        size_t size = operation->has_size ? o->sizes[i] : 0;
        if (!fits(bench, operation, size)) {
            if (bench->shared.rank == 0)
                fprintf(bench->out,
                        "{\"type\":\"left_out\",\"operation\":\"%s\",\"size\":%zu,"
                        "\"why\":\"more than the memory allowed\"}\n",
                        operation->name, size);
            continue;
        }
        set_size(operation, &bench->call, size);
        verify(bench, operation, size);
        for (int m = 0; m < MODES; ++m)
            if (is_measured(o, operation, (Mode)m))
                measure(bench, operation, size, (Mode)m);
    }
}

static void *buffer(const Options *o, size_t bytes)
{
    void *memory = NULL;
    if (o->alloc_mem ? MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory) != MPI_SUCCESS : posix_memalign(&memory, 4096, bytes) != 0)
        return NULL;
    return memory;
}

// The receive buffer also holds the guard.
static void allocate_buffers(Bench *bench)
{
    size_t send = BENCH_GUARD, receive = BENCH_GUARD;
    const Options *o = &bench->options;
    for (int i = 0; i < o->operation_count; ++i)
        for (int j = -1; j < o->size_count; ++j) {
            size_t size = j < 0 ? 8 : o->sizes[j]; // 8: to warm up
            if (!fits(bench, o->operations[i], size))
                continue;
            size_t s = send_bytes(o->operations[i], size, bench->call.ranks);
            size_t r = receive_bytes(o->operations[i], size, bench->call.ranks);
            send = s > send ? s : send;
            receive = r > receive ? r : receive;
        }
    if (!(bench->call.send = buffer(o, send)) || !(bench->call.receive = buffer(o, receive + BENCH_GUARD))) {
        fprintf(stderr, "fanlight-bench: no memory for the buffers\n");
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    memset(bench->call.send, 0, send);
    memset(bench->call.receive, 0, receive + BENCH_GUARD);
}

// ---- what the preload costs on a call that it passes on ---------------------------------------

static void measure_passthrough(Bench *bench)
{
    enum { PASS_BLOCKS = 41, PASS_CALLS = 20000 };
    static const char *const names[] = {"barrier", "bcast", "allreduce"};
    shared_meet(&bench->shared, true);
    if (bench->shared.rank == 0) { // the others sleep meanwhile
        Call world = bench->call;
        bench->call.comm = MPI_COMM_SELF;
        bench->call.ranks = 1;
        bench->call.root = 0;
        for (size_t n = 0; n < sizeof names / sizeof names[0]; ++n) {
            const Operation *operation = operation_named(names[n]);
            set_size(operation, &bench->call, 8);
            prepare(operation, &bench->call, 0);
            for (int i = 0; i < WARM_CALLS; ++i)
                operation->call[FANLIGHT](&bench->call);
            double sample[SIDES][PASS_BLOCKS], difference[PASS_BLOCKS];
            for (int b = 0; b < PASS_BLOCKS; ++b) {
                for (int turn = 0; turn < SIDES; ++turn) {
                    int side = (turn + b) % SIDES;
                    double begin = now();
                    for (int i = 0; i < PASS_CALLS; ++i)
                        operation->call[side](&bench->call);
                    sample[side][b] = (now() - begin) / PASS_CALLS;
                }
                difference[b] = sample[FANLIGHT][b] - sample[NATIVE][b];
            }
            fprintf(bench->out, "{\"type\":\"passthrough\",\"operation\":\"%s\",\"native\":",
                    names[n]);
            statistics_write(bench->out, statistics_of(sample[NATIVE], PASS_BLOCKS));
            fprintf(bench->out, ",\"fanlight\":");
            statistics_write(bench->out, statistics_of(sample[FANLIGHT], PASS_BLOCKS));
            fprintf(bench->out, ",\"nanoseconds\":%.2f}\n",
                    1e9 * statistics_of(difference, PASS_BLOCKS).median);
            fflush(bench->out);
        }
        bench->call = world;
    }
    shared_meet(&bench->shared, true);
}

// ---- what the guard costs on a call once it has decided ---------------------------------------

// On MPI_COMM_WORLD the rules choose and the guard compares; on a copy of it the same algorithm is forced, which the guard
// leaves alone.  Their calls differ in nothing else.
static bool measure_guard(Bench *bench)
{
    enum { GUARD_BLOCKS = 41, GUARD_CALLS = 10000, UNTIL_DECIDED = 400 };
    static const char *const names[] = {"barrier", "bcast", "allreduce"};
    int (*set_algorithm)(MPI_Comm, const char *), (*get_algorithm)(MPI_Comm, const char *, MPI_Count, char *, int);
    *(void **)&set_algorithm = dlsym(RTLD_DEFAULT, "fanlight_set_algorithm");
    *(void **)&get_algorithm = dlsym(RTLD_DEFAULT, "fanlight_get_algorithm");
    if (!set_algorithm || !get_algorithm)
        return false;
    MPI_Comm comms[2] = {bench->call.comm, MPI_COMM_NULL}; // with the guard, without
    MPI_Comm_dup(comms[0], &comms[1]);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; ++n) {
        const Operation *operation = operation_named(names[n]);
        char chosen[1024], forced[300];
        set_size(operation, &bench->call, 8);
        prepare(operation, &bench->call, 0);
        time_block(bench, operation, FANLIGHT, UNTIL_DECIDED, LOOP);
        get_algorithm(comms[0], names[n], 8, chosen, (int)sizeof chosen);
        int kept = strstr(chosen, "guard: ours serves") != NULL, all_kept = 0;
        PMPI_Allreduce(&kept, &all_kept, 1, MPI_INT, MPI_MIN, bench->shared.control);
        if (!all_kept) // the two would be different operations
            continue;
        chosen[strcspn(chosen, " :")] = '\0';
        snprintf(forced, sizeof forced, "%s:%.200s", names[n], chosen);
        set_algorithm(comms[1], forced);
        double sample[2][GUARD_BLOCKS], difference[GUARD_BLOCKS];
        bench->call.comm = comms[1];
        time_block(bench, operation, FANLIGHT, GUARD_CALLS, LOOP);
        for (int b = 0; b < GUARD_BLOCKS; ++b) {
            for (int turn = 0; turn < 2; ++turn) {
                int which = (turn + b) % 2;
                bench->call.comm = comms[which];
                sample[which][b] = time_block(bench, operation, FANLIGHT, GUARD_CALLS, LOOP) / GUARD_CALLS;
            }
            difference[b] = sample[0][b] - sample[1][b];
        }
        bench->call.comm = comms[0];
        if (bench->shared.rank != 0)
            continue;
        fprintf(bench->out, "{\"type\":\"guard\",\"operation\":\"%s\",\"algorithm\":\"%s\",\"guarded\":", names[n], chosen);
        statistics_write(bench->out, statistics_of(sample[0], GUARD_BLOCKS));
        fprintf(bench->out, ",\"forced\":");
        statistics_write(bench->out, statistics_of(sample[1], GUARD_BLOCKS));
        fprintf(bench->out, ",\"nanoseconds\":%.2f}\n", 1e9 * statistics_of(difference, GUARD_BLOCKS).median);
        fflush(bench->out);
    }
    MPI_Comm_free(&comms[1]);
    return true;
}

// ---------------------------------------------------------------------------------------------

static int finish(Bench *bench, int status)
{
    if (bench->shared.rank == 0 && bench->out && bench->out != stdout)
        fclose(bench->out);
    if (bench->call.ring != MPI_COMM_NULL)
        MPI_Comm_free(&bench->call.ring);
    shared_close(&bench->shared);
    MPI_Finalize();
    return status;
}

int main(int argc, char **argv)
{
    static Bench bench;
    bench.call.ring = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    shared_open(&bench.shared);
    bool first = bench.shared.rank == 0;
    opterr = first; // one complaint is enough
    if (!parse_options(argc, argv, &bench.options) || bench.options.root >= bench.shared.ranks) {
        if (first)
            fputs(usage, stderr);
        return finish(&bench, 2);
    }
    const Options *o = &bench.options;
    bench.out = first ? (o->output ? fopen(o->output, "w") : stdout) : NULL;
    int opened = !first || bench.out;
    PMPI_Bcast(&opened, 1, MPI_INT, 0, bench.shared.control);
    if (!opened) {
        if (first)
            fprintf(stderr, "fanlight-bench: %s: %s\n", o->output, strerror(errno));
        return finish(&bench, 2);
    }

    bool bound = o->bind && shared_bind(&bench.shared);
    bench.call = (Call){.comm = MPI_COMM_WORLD, .rank = bench.shared.rank,
                        .ranks = bench.shared.ranks, .root = o->root, .ring = MPI_COMM_NULL};
    for (int i = 0; i < o->operation_count; ++i)
        if (on_ring(o->operations[i]) && bench.call.ring == MPI_COMM_NULL)
            make_ring(&bench.call);
    bench.cell_seconds = o->seconds > 0 ? o->seconds / figures_of(o) : 0.25;
    allocate_buffers(&bench);
    if (first)
        write_run_line(bench.out, &bench.shared, bound, o->results ? figures_of(o) : 0);
    if (o->limits)
        measure_limits(&bench.shared, bench.out);
    if (o->passthrough)
        measure_passthrough(&bench);
    if (o->guard)
        bench.failed = !measure_guard(&bench);
    if (o->exchange)
        bench.failed = !measure_exchange(&bench.shared, o->blocks, o->block, bench.out);
    if (o->results)
        for (int i = 0; i < o->operation_count; ++i)
            measure_operation(&bench, o->operations[i]);
    return finish(&bench, bench.failed ? 1 : 0);
}

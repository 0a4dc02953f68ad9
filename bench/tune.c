// What `fanlight tune` starts, under the preload: for each cell of a plan (an operation and a size) it times the
// MPI library's own and the plan's algorithms, which it forces one after the other with fanlight_set_algorithm.
//
// An algorithm is timed when its results were right.  A sample is one call, or of an operation that synchronizes by itself
// some calls back to back, from a start that the ranks have agreed on, by a clock that all of them see, to the end of the
// last rank; before it each rank writes what it gives, as a program does: what a reader still had in its cache would be
// faster than any program sees it.  Samples come in windows; the candidates' windows follow each other in random order, with other
// buffers each time.  After each round the slower half of the candidates goes; the last ones stay for the rest of the
// cell's time, and the medians of their windows are written, as JSON lines, with the MPI library's of the same rounds.
#include "limits.h"
#include "operations.h"
#include "run_line.h"
#include "statistics.h"

#include <dlfcn.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    MOST_CANDIDATES = 64, NAME = 128, MOST_SAMPLES = 64, MOST_WINDOWS = 256, MOST_SETS = 4,
    WARM_CALLS = 3, FIRST_WINDOWS = 2, FINALISTS = 5, MOST_LATE = 20
};

typedef int SetAlgorithm(MPI_Comm, const char *);
typedef int GetAlgorithm(MPI_Comm, const char *, MPI_Count, char *, int);
typedef int Prepare(MPI_Comm);

typedef struct Candidate {
    char name[NAME];     // empty: the MPI library's own
    bool out;            // excluded, or too slow
    double each;         // seconds of a call, about
    double medians[MOST_WINDOWS];
    int windows;         // how many of them count
} Candidate;

typedef struct Tune {
    Shared shared;
    Call call;
    MPI_Comm comm;       // what is measured runs on it
    SetAlgorithm *set_algorithm;
    GetAlgorithm *get_algorithm;
    const Operation *operation;
    size_t size;
    Candidate candidates[MOST_CANDIDATES];
    int candidate_count;
    unsigned char *send[MOST_SETS], *receive[MOST_SETS];
    int sets, set, most_sets;
    size_t memory;
    double cell_seconds;
    uint64_t random;
    int calls_checked;
    double write_seconds; // that a rank takes to write what it gives
    bool common_clock;   // all ranks have one, and may wait for a moment without taking a core from another one
    bool round_trips;    // after each cell: how far two ranks are from each other
    FILE *out;
} Tune;

// The same numbers on all ranks.
static uint64_t next_random(Tune *t)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return t->random;
}

static void use_set(Tune *t, int set)
{
    t->set = set % t->sets;
    t->call.send = t->send[t->set];
    t->call.receive = t->receive[t->set];
}

static void call_once(Tune *t, const Candidate *c)
{
    t->operation->call[*c->name ? FANLIGHT : NATIVE](&t->call);
}

// What this rank gives, a word of each cache line.
static void write_input(Tune *t)
{
    const Operation *o = t->operation;
    bool in_place = o->send == NOTHING && t->call.rank == t->call.root; // a broadcast's root
    unsigned char *input = in_place ? t->call.receive : t->call.send;
    size_t bytes = in_place ? receive_bytes(o, t->size, t->call.ranks) : send_bytes(o, t->size, t->call.ranks);
    for (size_t i = 0; i < bytes; i += 64)
        ++input[i];
}

// ---- one window -----------------------------------------------------------------------------

static void wait_until(double moment)
{
    while (now() < moment)
        cpu_pause();
}

// A clone of this machine has another one, and so may a container; theirs differ by more than messages take.
static bool have_one_clock(const Shared *shared)
{
    PMPI_Barrier(shared->control);
    double mine[2] = {now(), -now()}, most[2];
    PMPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, shared->control);
    return most[0] + most[1] < 1;
}

// That all ranks come to know before.
static double common_moment(Tune *t)
{
    double begin = now(), latest = agreed_maximum(&t->shared, begin);
    if (t->shared.mapped)
        return latest + 20e-6;
    return latest + 3 * agreed_maximum(&t->shared, now() - begin); // each time they agree takes so long
}

// The samples of a window: the longest time of all ranks, the same on all of them.  Infinite: a rank began too late.
static void take_samples(Tune *t, const Candidate *c, int samples, int calls, double apart, double *taken)
{
    double mine[MOST_SAMPLES];
    if (t->common_clock) {
        double first = common_moment(t) + t->write_seconds;
        for (int i = 0; i < samples; ++i) {
            double start = first + i * apart;
            wait_until(start - t->write_seconds);
            write_input(t);
            bool late = now() > start;
            wait_until(start);
            for (int k = 0; k < calls; ++k)
                call_once(t, c);
            mine[i] = late ? INFINITY : (now() - start) / calls;
        }
    } else {
        for (int i = 0; i < samples; ++i) {
            write_input(t);
            shared_meet(&t->shared, false);
            double start = now();
            for (int k = 0; k < calls; ++k)
                call_once(t, c);
            mine[i] = (now() - start) / calls;
        }
    }
    PMPI_Allreduce(mine, taken, samples, MPI_DOUBLE, MPI_MAX, t->shared.control);
}

// What the clock and the wait for the common moment take of a sample.
static void report_empty_samples(Tune *t)
{
    double mine[MOST_SAMPLES], taken[MOST_SAMPLES];
    if (!t->common_clock)
        return;
    double first = common_moment(t);
    for (int i = 0; i < MOST_SAMPLES; ++i) {
        wait_until(first + i * 3e-6);
        mine[i] = now() - (first + i * 3e-6);
    }
    PMPI_Allreduce(mine, taken, MOST_SAMPLES, MPI_DOUBLE, MPI_MAX, t->shared.control);
    if (!t->out)
        return;
    fprintf(t->out, "{\"type\":\"limit\",\"limit\":\"empty_sample\",\"time\":");
    statistics_write(t->out, statistics_of(taken, MOST_SAMPLES));
    fprintf(t->out, "}\n");
}

// The median of a window; the same on all ranks.
static double window(Tune *t, Candidate *c)
{
    double each = c->each > 1e-7 ? c->each : 1e-7;
    // Many calls of 0.3 us are told from one another better together; where the ranks do not wait for each other
    // the first of them would be many calls ahead.
    int calls = t->operation->synchronizes && t->size <= 1024 ? (int)(10e-6 / each) : 1;
    calls = calls < 1 ? 1 : calls > 32 ? 32 : calls;
    int samples = (int)(400e-6 / (each * calls + t->write_seconds));
    samples = samples < 3 ? 3 : samples > MOST_SAMPLES ? MOST_SAMPLES : samples;
    use_set(t, t->set + 1);
    double taken[MOST_SAMPLES];
    for (int attempt = 0;; ++attempt) {
        take_samples(t, c, samples, calls, 1.5 * each * calls + 3e-6 + t->write_seconds, taken);
        int good = 0;
        for (int i = 0; i < samples; ++i)
            if (isfinite(taken[i]))
                taken[good++] = taken[i];
        if (good >= samples / 2 + 1 || attempt == MOST_LATE) {
            double median = good ? statistics_of(taken, good).median : c->each;
            c->each = 0.5 * c->each + 0.5 * median;
            return median;
        }
        each *= 1.5; // it takes longer than was thought
        t->write_seconds *= 1.5;
    }
}

static void force(Tune *t, const Candidate *c)
{
    char text[NAME + 64] = "";
    if (*c->name) {
        snprintf(text, sizeof text, "%s:%s", t->operation->collective, c->name);
        t->set_algorithm(t->comm, text);
        if (on_ring(t->operation))
            t->set_algorithm(t->call.ring, text);
    }
    for (int i = 0; i < WARM_CALLS; ++i) {
        use_set(t, t->set + 1);
        call_once(t, c);
    }
}

// ---- right before fast ----------------------------------------------------------------------

// Words that are wrong on all ranks, of calls with several roots and all buffers.  The last call's root is 0,
// which is measured: what it sends stays in the buffers.
static long check(Tune *t, const Candidate *c)
{
    long wrong = 0, all = 0;
    int repeats = t->sets > 3 ? t->sets : 3;
    for (int i = 0; i < repeats; ++i) {
        if (!t->operation->has_size) {
            barrier_enter(&t->shared, ++t->calls_checked);
            call_once(t, c);
            wrong += barrier_early(&t->shared, t->calls_checked);
            continue;
        }
        t->call.root = (repeats - 1 - i) % t->call.ranks;
        if (i >= repeats - t->sets)
            t->call.root = 0;
        use_set(t, i);
        int number = ++t->calls_checked & 0x7FF;
        prepare(t->operation, &t->call, number);
        call_once(t, c);
        wrong += wrong_words(t->operation, &t->call, number);
    }
    t->call.root = 0;
    PMPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, t->shared.control);
    return all;
}

static void write_begin(Tune *t, const char *type)
{
    fprintf(t->out, "{\"type\":\"%s\",\"operation\":\"%s\",\"size\":%zu", type, t->operation->name, t->size);
}

static void exclude(Tune *t, Candidate *c, const char *why)
{
    c->out = true;
    if (!t->out)
        return;
    write_begin(t, "excluded");
    fprintf(t->out, ",\"algorithm\":\"%s\",\"why\":\"", *c->name ? c->name : "native");
    for (; *why; ++why)
        if (*why != '"' && *why != '\\' && (unsigned char)*why >= ' ')
            fputc(*why, t->out);
    fprintf(t->out, "\"}\n");
}

// Whether Fanlight serves it, by this algorithm, and rightly.
static void admit(Tune *t, Candidate *c)
{
    char text[256] = "";
    if (*c->name) {
        snprintf(text, sizeof text, "%s:%s", t->operation->collective, c->name);
        int error = t->set_algorithm(t->comm, text);
        if (error == MPI_SUCCESS && on_ring(t->operation))
            error = t->set_algorithm(t->call.ring, text);
        if (error != MPI_SUCCESS) {
            char said[MPI_MAX_ERROR_STRING] = "it cannot be forced";
            int length;
            PMPI_Error_string(error, said, &length);
            exclude(t, c, said);
            return;
        }
        t->get_algorithm(t->comm, t->operation->collective, (MPI_Count)t->size, text, (int)sizeof text);
        if (strncmp(text, "native", 6) == 0) {
            exclude(t, c, text);
            return;
        }
    }
    long wrong = check(t, c);
    if (wrong) {
        snprintf(text, sizeof text, "wrong: %ld words are not what they must be", wrong);
        exclude(t, c, text);
        return;
    }
    double best = INFINITY;
    for (int i = 0; i < 5; ++i) {
        shared_meet(&t->shared, false);
        double begin = now();
        call_once(t, c);
        double taken = agreed_maximum(&t->shared, now() - begin);
        best = taken < best ? taken : best;
        begin = now();
        write_input(t);
        taken = 1.2 * agreed_maximum(&t->shared, now() - begin);
        t->write_seconds = taken > t->write_seconds ? taken : t->write_seconds;
    }
    c->each = best;
}

// ---- one cell -------------------------------------------------------------------------------

static void shuffle(Tune *t, int *order, int n)
{
    for (int i = n - 1; i > 0; --i) {
        int j = (int)(next_random(t) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static double median_of(const Candidate *c)
{
    double sorted[MOST_WINDOWS];
    memcpy(sorted, c->medians, sizeof *sorted * (size_t)c->windows);
    return statistics_of(sorted, c->windows).median;
}

static int left(const Tune *t)
{
    int n = 0;
    for (int i = 1; i < t->candidate_count; ++i)
        n += !t->candidates[i].out;
    return n;
}

// The slower half, but never the MPI library's own, nor what the others are compared with, the plan's first; far slower ones
// at once.
static void halve(Tune *t)
{
    int keep = (left(t) + 1) / 2;
    keep = keep < FINALISTS ? FINALISTS : keep;
    double medians[MOST_CANDIDATES], best = INFINITY;
    for (int i = 0; i < t->candidate_count; ++i) {
        medians[i] = t->candidates[i].out ? INFINITY : median_of(&t->candidates[i]);
        best = medians[i] < best ? medians[i] : best;
    }
    if (!t->candidates[1].out)
        medians[1] = 0;
    for (int i = 1; i < t->candidate_count; ++i) {
        int faster = 0;
        for (int j = 1; j < t->candidate_count; ++j)
            faster += medians[j] < medians[i] || (medians[j] == medians[i] && j < i);
        if (faster >= keep || medians[i] > 2 * best)
            t->candidates[i].out = true;
    }
}

// One window of each that is left, in random order.
static void one_round(Tune *t)
{
    int order[MOST_CANDIDATES], n = 0;
    for (int i = 0; i < t->candidate_count; ++i)
        if (!t->candidates[i].out)
            order[n++] = i;
    shuffle(t, order, n);
    for (int i = 0; i < n; ++i) {
        Candidate *c = &t->candidates[order[i]];
        force(t, c);
        c->medians[c->windows++] = window(t, c);
    }
}

static void write_medians(Tune *t, const Candidate *c)
{
    fprintf(t->out, "%s\"%s\":[", c == t->candidates ? "" : ",", *c->name ? c->name : "native");
    for (int i = 0; i < c->windows; ++i)
        fprintf(t->out, "%s%.4f", i ? "," : "", 1e6 * c->medians[i]);
    fputc(']', t->out);
}

static void measure(Tune *t)
{
    double begin = now(), spent = 0;
    for (int i = 0; i < t->candidate_count; ++i)
        admit(t, &t->candidates[i]);
    if (!t->candidates[0].out && left(t) > 0) {
        do {
            bool last = left(t) <= FINALISTS;
            for (int i = 0; i < t->candidate_count; ++i)
                t->candidates[i].windows = 0; // paired with the others' of this round alone
            for (int i = 0;; ++i) {
                one_round(t);
                spent = agreed_maximum(&t->shared, now() - begin);
                if (i + 1 >= MOST_WINDOWS || (last ? i >= 4 && spent >= t->cell_seconds : i + 1 >= FIRST_WINDOWS))
                    break;
            }
            if (last)
                break;
            halve(t);
        } while (left(t) > 0);
    }
    if (!t->out)
        return;
    write_begin(t, "cell");
    fprintf(t->out, ",\"seconds\":%.3f,\"medians\":{", spent);
    if (!t->candidates[0].out)
        for (int i = 0; i < t->candidate_count; ++i)
            if (!t->candidates[i].out)
                write_medians(t, &t->candidates[i]);
    fprintf(t->out, "}}\n");
    fflush(t->out);
}

static bool set_cell(Tune *t, const char *name, size_t size)
{
    Call *c = &t->call;
    t->operation = operation_named(name);
    t->size = size;
    t->write_seconds = 0;
    if (!t->operation)
        return false;
    set_size(t->operation, c, size);
    size_t send = send_bytes(t->operation, size, c->ranks), receive = receive_bytes(t->operation, size, c->ranks);
    // Apart by no power of two, so that they do not meet in the sets of a cache.
    size_t both = (send + receive + 2 * BENCH_GUARD + 3 * 4096 + 191) / 64 * 64;
    if (both > t->memory)
        return false;
    t->sets = (int)(t->memory / both);
    t->sets = t->sets > t->most_sets ? t->most_sets : t->sets;
    for (int i = 0; i < t->sets; ++i) {
        t->send[i] = t->send[0] + (size_t)i * both;
        t->receive[i] = t->send[i] + (send + BENCH_GUARD + 4096 + 63) / 64 * 64;
    }
    use_set(t, 0);
    return true;
}

// ---- the plan -------------------------------------------------------------------------------

// Read by rank 0 for all: "cell OPERATION SIZE", and below it a line for each algorithm; the first of them is measured to the
// end.
static char *read_plan(const Tune *t, const char *file)
{
    long length = -1;
    char *text = NULL;
    FILE *in = t->shared.rank == 0 ? fopen(file, "r") : NULL;
    if (in) {
        fseek(in, 0, SEEK_END);
        length = ftell(in);
        rewind(in);
        text = calloc(1, (size_t)length + 1);
        if (fread(text, 1, (size_t)length, in) != (size_t)length)
            length = -1;
        fclose(in);
    }
    PMPI_Bcast(&length, 1, MPI_LONG, 0, t->shared.control);
    if (length < 0)
        return NULL;
    if (t->shared.rank != 0)
        text = calloc(1, (size_t)length + 1);
    PMPI_Bcast(text, (int)length, MPI_CHAR, 0, t->shared.control);
    return text;
}

static bool run_plan(Tune *t, char *text)
{
    char *place, *line = strtok_r(text, "\n", &place);
    while (line) {
        char name[64];
        size_t size;
        if (sscanf(line, "cell %63s %zu", name, &size) != 2 || !set_cell(t, name, size)) {
            fprintf(stderr, "fanlight-tune: the plan's line \"%s\" is not understood, or it needs too much memory\n", line);
            return false;
        }
        t->candidates[0] = (Candidate){.name = ""};
        t->candidate_count = 1;
        while ((line = strtok_r(NULL, "\n", &place)) && strncmp(line, "cell ", 5) != 0) {
            if (t->candidate_count == MOST_CANDIDATES || strlen(line) >= NAME)
                continue;
            Candidate *c = &t->candidates[t->candidate_count++];
            *c = (Candidate){.out = false};
            strcpy(c->name, line);
        }
        measure(t);
        if (t->round_trips)
            measure_round_trip(&t->shared, t->out);
    }
    return true;
}

// The CPUs that rank 0 may run on, how often the ranks lost theirs to others, and whether single copy is there.
static void write_end(Tune *t)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double lost = (double)usage.ru_nivcsw, all = 0;
    PMPI_Reduce(&lost, &all, 1, MPI_DOUBLE, MPI_SUM, 0, t->shared.control);
    if (t->out)
        fprintf(t->out, "{\"type\":\"end\",\"interruptions\":%.0f}\n", all);
}

static void write_cpus(FILE *out, const cpu_set_t *cpus)
{
    fprintf(out, "{\"type\":\"cpus\",\"cpus\":[");
    for (int cpu = 0, n = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, cpus))
            fprintf(out, "%s%d", n++ ? "," : "", cpu);
    fprintf(out, "]}\n");
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"seconds", 1, 0, 's'}, {"seed", 1, 0, 'r'}, {"memory", 1, 0, 'M'},
                                          {"same-buffers", 0, 0, 'b'}, {"with-limits", 0, 0, 'L'}, {"bind", 0, 0, 'B'},
                                          {0, 0, 0, 0}};
    Tune t = {.cell_seconds = 0.5, .memory = (size_t)64 << 20, .random = 1, .most_sets = MOST_SETS};
    bool limits = false, bind = false;
    for (int c; (c = getopt_long(argc, argv, "s:r:M:bLB", names, NULL)) != -1;)
        switch (c) {
        case 's': t.cell_seconds = atof(optarg); break;
        case 'r': t.random = 2 * strtoull(optarg, NULL, 10) + 1; break;
        case 'M': t.memory = (size_t)strtoull(optarg, NULL, 10); break;
        case 'b': t.most_sets = 1; break;
        case 'L': limits = true; break;
        case 'B': bind = true; break;
        default: optind = argc + 1;
        }
    if (optind != argc - 1) {
        fprintf(stderr, "usage: fanlight-tune-<mpi> [--seconds=S of a cell] [--seed=N] [--memory=BYTES] [--same-buffers] [--with-limits] [--bind] PLAN\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    shared_open(&t.shared);
    bool bound = bind && shared_bind(&t.shared);
    t.common_clock = t.shared.machine_ranks == t.shared.ranks && !t.shared.oversubscribed && have_one_clock(&t.shared);
    *(void **)&t.set_algorithm = dlsym(RTLD_DEFAULT, "fanlight_set_algorithm");
    *(void **)&t.get_algorithm = dlsym(RTLD_DEFAULT, "fanlight_get_algorithm");
    Prepare *prepare_comm;
    *(void **)&prepare_comm = dlsym(RTLD_DEFAULT, "fanlight_prepare");
    char *plan = read_plan(&t, argv[optind]);
    if (!plan || !t.set_algorithm || !t.get_algorithm || !prepare_comm) {
        if (t.shared.rank == 0)
            fprintf(stderr, "fanlight-tune: %s\n", plan ? "Fanlight is not preloaded" : "the plan cannot be read");
        MPI_Finalize();
        return 2;
    }
    t.comm = MPI_COMM_WORLD;
    t.call = (Call){.comm = t.comm, .rank = t.shared.rank, .ranks = t.shared.ranks};
    t.send[0] = aligned_alloc(4096, t.memory);
    memset(t.send[0], 0, t.memory);
    make_ring(&t.call);
    MPI_Comm_set_errhandler(t.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(t.call.ring, MPI_ERRORS_RETURN);
    prepare_comm(t.comm);
    prepare_comm(t.call.ring);
    if (t.shared.rank == 0) {
        t.out = stdout;
        cpu_set_t mine;
        CPU_ZERO(&mine);
        sched_getaffinity(0, sizeof mine, &mine);
        write_run_line(t.out, &t.shared, bound, 0);
        write_cpus(t.out, &mine);
        fflush(t.out);
    }
    t.round_trips = limits || t.common_clock;
    if (limits) {
        measure_limits(&t.shared, t.out);
        report_empty_samples(&t);
    }
    bool good = run_plan(&t, plan);
    write_end(&t);
    free(plan);
    free(t.send[0]);
    MPI_Comm_free(&t.call.ring);
    shared_close(&t.shared);
    MPI_Finalize();
    return good ? 0 : 2;
}

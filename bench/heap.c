// What blocks of the shared heap cost beside the C library's own, in turn inside one run:
//   LD_PRELOAD=.../libfanlight-heap.so fanlight-bench-heap [MILLISECONDS]
// For each size the medians of pairs of batches, the C library's time divided by the shared heap's: more than 1 is
// faster.  Before it, what 10^6 blocks leave behind.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

void *__libc_malloc(size_t);
void __libc_free(void *);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

struct heap {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void touch(char *block, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 4096) ((volatile char *)block)[i] = 1;
}

// One block at a time, as long as it is in use.
static void alone(const struct heap *h, size_t bytes) { h->free(h->malloc(bytes)); }
static void alone_touched(const struct heap *h, size_t bytes) {
    char *const block = h->malloc(bytes);
    touch(block, bytes);
    h->free(block);
}
static void zeroed(const struct heap *h, size_t bytes) {
    char *const block = h->calloc(1, bytes);
    touch(block, bytes);
    h->free(block);
}
// Four blocks of four lengths, freed in another order, as a time step's temporary arrays.
static void several(const struct heap *h, size_t bytes) {
    char *block[4];
    for (int i = 0; i < 4; ++i) touch(block[i] = h->malloc(bytes / 4 * (i + 1)), bytes / 4 * (i + 1));
    for (int i = 0; i < 4; ++i) h->free(block[(i + 2) % 4]);
}
// A block that becomes as long step by step, as Python's lists do.
static void grown(const struct heap *h, size_t bytes) {
    char *block = h->malloc(bytes / 4);
    touch(block, bytes / 4);
    for (size_t had = bytes / 4, more; had < bytes; had = more) {
        more = had + had / 8;
        block = h->realloc(block, more);
        touch(block + had, more - had);
    }
    h->free(block);
}

static double time_of(void (*what)(const struct heap *, size_t), const struct heap *h, size_t bytes, int times) {
    const double begin = now();
    for (int i = 0; i < times; ++i) what(h, bytes);
    return (now() - begin) / times;
}

static int compare(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

enum { most_pairs = 1001 };

// Batches are short, and each begins one time first and one time second: another program takes the core away now and then.
static void row(const char *name, void (*what)(const struct heap *, size_t), const struct heap *libcs, const struct heap *ours, double seconds) {
    static double ratio[most_pairs];
    printf("%-22s", name);
    for (size_t bytes = 65536; bytes <= (size_t)64 << 20; bytes *= 4) {
        int times = 1, pairs = 0;
        while (time_of(what, libcs, bytes, times) * times < 2e-4 && times < 1 << 20) times *= 2;
        time_of(what, ours, bytes, times);
        for (const double begin = now(); pairs < most_pairs && (pairs < 5 || now() - begin < seconds); ++pairs) {
            const int first = pairs % 2;
            const double one = time_of(what, first ? ours : libcs, bytes, times), other = time_of(what, first ? libcs : ours, bytes, times);
            ratio[pairs] = first ? other / one : one / other;
        }
        qsort(ratio, pairs, sizeof *ratio, compare);
        printf(" %8.2f", ratio[pairs / 2]);
        fflush(stdout);
    }
    printf("\n");
}

static long resident(void) {
    long all = 0, here = 0;
    FILE *const file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &here) != 2) here = -1;
    if (file) fclose(file);
    return here * 4;
}

static long faults(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

// 10^6 blocks of 64 KiB to 1 MiB, 32 at a time, touched.
static void many(const char *name, const struct heap *h) {
    char *block[32] = {0};
    unsigned random = 1;
    const long before = resident(), faulted = faults();
    long early = 0, late = 0;
    for (int i = 0; i < 1000000; ++i) {
        random = random * 1664525 + 1013904223;
        char **const b = block + (random >> 27);
        h->free(*b);
        const size_t bytes = 65536 + (random >> 7 & 0xfffff);
        *b = h->malloc(bytes);
        (*b)[0] = (*b)[bytes - 1] = 1;
        if (i == 100000) early = resident();
    }
    late = resident();
    for (int i = 0; i < 32; ++i) h->free(block[i]);
    printf("%-22s resident %ld KiB before, %ld after 10^5 blocks, %ld after 10^6, %ld when all are freed; %ld page faults\n", name, before, early, late,
           resident(), faults() - faulted);
}

int main(int argc, char **argv) {
    const struct heap libcs = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_free}, ours = {malloc, calloc, realloc, free};
    const char *(*const heap)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "fanlight_heap");
    if (!heap || *heap()) {
        fprintf(stderr, "no shared heap: %s\n", heap ? heap() : "preload libfanlight-heap.so");
        return 1;
    }
    many("the C library", &libcs);
    many("the shared heap", &ours);
    const double seconds = (argc > 1 ? atof(argv[1]) : 200) / 1000;
    printf("%-22s %8s %8s %8s %8s %8s %8s\n", "the C library's / ours", "64K", "256K", "1M", "4M", "16M", "64M");
    row("malloc, free", alone, &libcs, &ours, seconds);
    row("malloc, touch, free", alone_touched, &libcs, &ours, seconds);
    row("calloc, touch, free", zeroed, &libcs, &ours, seconds);
    row("four, touched", several, &libcs, &ours, seconds);
    row("grown by realloc", grown, &libcs, &ours, seconds);
    return 0;
}

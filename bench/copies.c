// What copies between processes take when all of them copy at once, each on a core of its own, without MPI:
//   fanlight-bench-copies PROCESSES
// By two copies through shared memory (the first is called staging), or by one that the kernel makes
// (process_vm_readv); each process from another one, all from the same one, or a part from each.  Before each copy all
// processes rewrite their vectors.  Medians of the slowest process's time, in microseconds.
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, AREAS = 4, ROUNDS = 15, MOST = 512, LINE = 128 };

static struct shared {
    _Alignas(LINE) atomic_int arrived;
    _Alignas(LINE) atomic_int meeting;
    _Alignas(LINE) double seconds[MOST];
    pid_t pid[MOST];
    char *vector[MOST];
} *shared;
static char *staging, *vector, *result;
static int processes, rank;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void meet(void) {
    const int meeting = atomic_load(&shared->meeting);
    if (atomic_fetch_add(&shared->arrived, 1) == processes - 1) {
        atomic_store(&shared->arrived, 0);
        atomic_store(&shared->meeting, meeting + 1);
    } else {
        while (atomic_load(&shared->meeting) == meeting) {}
    }
}

static char *area(int of, int number) { return staging + ((size_t)of * AREAS + (size_t)number) * MOST_BYTES; }

static void by_the_kernel(char *to, int of, size_t offset, size_t bytes) {
    const struct iovec mine = {to, bytes}, theirs = {shared->vector[of] + offset, bytes};
    if (process_vm_readv(shared->pid[of], &mine, 1, &theirs, 1, 0) == (ssize_t)bytes) return;
    perror("fanlight-bench-copies: process_vm_readv");
    exit(1);
}

static void to_itself(size_t bytes, int number) { (void)number, memcpy(result, vector, bytes); }
static void stage(size_t bytes, int number) { memcpy(area(rank, number), vector, bytes); }
static void staged_by_the_next(size_t bytes, int number) { memcpy(result, area((rank + 1) % processes, number), bytes); }
static void staged_by_one(size_t bytes, int number) { memcpy(result, area(0, number), bytes); }
static void staged_parts(size_t bytes, int number) {
    const size_t part = bytes / (size_t)processes;
    for (int i = 1; i < processes; ++i) {
        const int from = (rank + i) % processes;
        memcpy(result + (size_t)from * part, area(from, number) + (size_t)rank * part, part);
    }
}
static void kernel_from_the_next(size_t bytes, int number) { (void)number, by_the_kernel(result, (rank + 1) % processes, 0, bytes); }
static void kernel_from_one(size_t bytes, int number) {
    (void)number;
    if (rank != 0) by_the_kernel(result, 0, 0, bytes);
}
static void kernel_parts(size_t bytes, int number) {
    (void)number;
    const size_t part = bytes / (size_t)processes;
    for (int i = 1; i < processes; ++i) {
        const int from = (rank + i) % processes;
        by_the_kernel(result + (size_t)from * part, from, (size_t)rank * part, part);
    }
}

// What is read was staged by the line before.
static const struct {
    const char *name;
    void (*copy)(size_t bytes, int number);
} copies[] = {
    {"within a process", to_itself},
    {"stage", stage}, {"read what the next one staged", staged_by_the_next},
    {"stage", stage}, {"all read what one staged", staged_by_one},
    {"stage", stage}, {"read a part from each one's staging", staged_parts},
    {"the kernel, from the next one", kernel_from_the_next},
    {"the kernel, all from one", kernel_from_one},
    {"the kernel, a part from each", kernel_parts},
};
enum { COPIES = sizeof copies / sizeof *copies };

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double slowest(int which, size_t bytes, int round) {
    memset(vector, round + which, bytes);
    meet();
    const double start = now();
    copies[which].copy(bytes, round % AREAS);
    shared->seconds[rank] = now() - start;
    meet();
    double most = 0;
    for (int i = 0; i < processes; ++i) most = shared->seconds[i] > most ? shared->seconds[i] : most;
    meet();
    return most;
}

// To the core of its rank, among those that are allowed.
static void bind_to_one(void) {
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int core = 0, before = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &allowed) && before++ == rank) CPU_SET(core, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) return;
    perror("fanlight-bench-copies: sched_setaffinity");
    exit(1);
}

static void *mapped(size_t bytes) {
    void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) return memory;
    perror("fanlight-bench-copies: mmap");
    exit(1);
}

int main(int argc, char **argv) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return perror("fanlight-bench-copies: sched_getaffinity"), 1;
    const int cores = CPU_COUNT(&allowed);
    processes = argc == 2 ? atoi(argv[1]) : 0;
    if (processes < 2 || processes > MOST || processes > cores) {
        fprintf(stderr, "usage: fanlight-bench-copies PROCESSES: 2 to %d, a core for each\n", cores < MOST ? cores : MOST);
        return 2;
    }
    shared = mapped(sizeof *shared);
    staging = mapped((size_t)processes * AREAS * MOST_BYTES);
    for (; rank < processes - 1; ++rank) {
        const pid_t child = fork();
        if (child < 0) return perror("fanlight-bench-copies: fork"), 1;  // and those that wait end with this process
        if (child == 0) break;
    }
    if (rank < processes - 1) prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    bind_to_one();
    vector = aligned_alloc(4096, MOST_BYTES), result = aligned_alloc(4096, MOST_BYTES);
    if (!vector || !result) return 1;
    memset(vector, rank, MOST_BYTES), memset(result, 1, MOST_BYTES);
    for (int i = 0; i < AREAS; ++i) memset(area(rank, i), rank, MOST_BYTES);
    shared->pid[rank] = getpid(), shared->vector[rank] = vector;
    meet();
    volatile char *const all = staging;  // each page once: its first use costs more than the copies
    for (size_t i = 0; i < (size_t)processes * AREAS * MOST_BYTES; i += 4096) (void)all[i];
    const int writes = rank == processes - 1;
    if (writes) printf("%d processes at once: us\n%-40s", processes, "");
    for (size_t bytes = 4096; writes && bytes <= MOST_BYTES; bytes *= 4) printf("%9zuK", bytes / 1024);
    static double times[COPIES][8][ROUNDS];
    int sizes = 0;
    for (size_t bytes = 4096; bytes <= MOST_BYTES; bytes *= 4, ++sizes)
        for (int round = 0; round < ROUNDS; ++round)
            for (int which = 0; which < COPIES; ++which) times[which][sizes][round] = 1e6 * slowest(which, bytes, round);
    for (int which = 0; writes && which < COPIES; ++which) {
        printf("\n%-40s", copies[which].name);
        for (int i = 0; i < sizes; ++i) {
            qsort(times[which][i], ROUNDS, sizeof(double), by_size);
            printf("%10.1f", times[which][i][ROUNDS / 2]);
        }
    }
    if (writes) printf("\n");
    fflush(stdout);
    while (wait(NULL) > 0) {}
    return 0;
}

// Thousands of communicators made, used and freed: memory stays flat.
//
//   many_communicators [ROUNDS]
//   many_communicators 0 lengths   the same of calls of thousands of lengths
#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "case.h"

static long resident_kib(void) {  // without what is merely shared and counted elsewhere
    long total, resident, shared;
    FILE *f = fopen("/proc/self/statm", "r");
    REQUIRE(f && fscanf(f, "%ld %ld %ld", &total, &resident, &shared) == 3);
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Of this process's own mappings: others may be using /dev/shm as well.
static long shared_memory_kib(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    REQUIRE(f);
    char line[512];
    long bytes = 0;
    while (fgets(line, sizeof line, f)) {
        unsigned long from, to;
        if ((strstr(line, "/memfd:fanlight-") || strstr(line, "/dev/shm/")) && sscanf(line, "%lx-%lx", &from, &to) == 2)
            bytes += (long)(to - from);
    }
    fclose(f);
    return bytes / 1024;
}

static char zeros[9000];

static int open_files(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d)) ++n;
    closedir(d);
    return n;
}

static void make_and_free(int rounds) {
    enum { HELD = 10 };
    MPI_Comm held[HELD];
    for (int i = 0; i < rounds; ++i) {
        for (int h = 0; h < HELD; ++h) {
            if (h % 2) MPI_Comm_dup(MPI_COMM_WORLD, &held[h]);
            else MPI_Comm_split(MPI_COMM_WORLD, h % 4 ? rank % 2 : 0, size - rank, &held[h]);
        }
        for (int h = HELD; h-- > 0;) {
            checked_allreduce(held[h], i * HELD + h, 3);
            checked_allreduce(held[h], i * HELD + h, 3000);
            MPI_Barrier(held[h]);
        }
        for (int h = 0; h < HELD; ++h) MPI_Comm_free(&held[h * 3 % HELD]);
    }
}

static void call_with_lengths(int first, int last) {
    for (int n = first; n < last; ++n) MPI_Bcast(zeros, n, MPI_CHAR, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (argc > 2) {
        call_with_lengths(0, 6000);
        const long before = resident_kib();
        call_with_lengths(6000, 9000);
        if (rank == 0) printf("3000 lengths: %+ld KiB\n", resident_kib() - before);
        REQUIRE(resident_kib() - before < 2 * 1024);
        return done();
    }
    const int rounds = argc > 1 ? atoi(argv[1]) : 200;
    make_and_free(20);
    const long resident = resident_kib(), shm = shared_memory_kib();
    const int files = open_files();
    make_and_free(rounds);
    const long more = resident_kib() - resident, more_shm = shared_memory_kib() - shm;
    if (rank == 0)
        printf("%d communicators: %ld KiB resident, %+ld KiB; shared memory %ld KiB, %+ld KiB; %+d files\n",
               rounds * 10, resident, more, shm, more_shm, open_files() - files);
    REQUIRE(more < 1024 + 10 * rounds);  // 1 KiB each, and what the libraries grow by once
    REQUIRE(more_shm < 256);
    REQUIRE(open_files() - files < 4);
    return done();
}

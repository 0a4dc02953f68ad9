// Thousands of communicators made, used and freed: memory stays flat.
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
        if (strstr(line, "/dev/shm/") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            bytes += (long)(to - from);
    }
    fclose(f);
    return bytes / 1024;
}

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
            checked_allreduce(held[h], i, 3);
            checked_allreduce(held[h], i, 3000);
            MPI_Barrier(held[h]);
        }
        for (int h = 0; h < HELD; ++h) MPI_Comm_free(&held[h * 3 % HELD]);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 200;
    make_and_free(20);
    const long resident = resident_kib(), shm = shared_memory_kib();
    const int files = open_files();
    make_and_free(rounds);
    const long more = resident_kib() - resident, more_shm = shared_memory_kib() - shm;
    if (rank == 0)
        printf("%d communicators: %ld KiB resident, %+ld KiB; /dev/shm %ld KiB, %+ld KiB; %+d files\n",
               rounds * 10, resident, more, shm, more_shm, open_files() - files);
    REQUIRE(more < 8 * 1024);
    REQUIRE(more_shm < 2 * 1024);
    REQUIRE(open_files() - files < 10);
    return done();
}

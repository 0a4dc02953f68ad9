// fanlight_init where units have settings of their own, and where it fails.
#include "check.h"
#include "fanlight/dart.h"
#include "fanlight/fanlight.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Fanlight's too: what it takes of shared memory.
static off_t taken;
int posix_fallocate(int fd, off_t from, off_t bytes)
{
    taken += bytes;
    return syscall(SYS_fallocate, fd, 0, from, bytes) ? errno : 0;
}

// Who has initialized MPI finalizes it.
static void fail_without_mpi(int argc, char **argv)
{
    int over = 0;
    if (strcmp(argv[1], "dart") == 0)
        CHECK(dart_init(&argc, &argv) != DART_OK);
    else
        WRONG(FANLIGHT_ERR_MEMORY, fanlight_init());
    CHECK(!fanlight_initialized());
    MPI_Finalized(&over);
    CHECK(over);
    printf("ok\n");
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        fail_without_mpi(argc, argv);
        return 0;
    }
    int me, units, level, mine;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &units);
    check_unit = me;
    // Of unit 0 all parts would be in one piece.
    setenv("FANLIGHT_LOCAL_MEMORY", me == 0 ? "32K" : "3M", 1);
    if (me == units - 1)
        setenv("FANLIGHT_NODE_UNITS", "1", 1);

    // Unit 0 alone gets no file of that length.
    struct rlimit all, few;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
    few = all;
    few.rlim_cur = 512 << 10;
    if (me == 0)
        CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
    WRONG(FANLIGHT_ERR_MEMORY, fanlight_init());
    CHECK((strstr(fanlight_message(), "another unit") != NULL) == (me > 0));
    WRONG(FANLIGHT_ERR_STATE, fanlight_exit());
    CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);

    DO(fanlight_init());
    DO(fanlight_team_unit(FANLIGHT_TEAM_ALL, &mine));
    CHECK(mine == me);
    fanlight_pointer p, theirs[64];
    int64_t got = -1, value = 100 + me;
    taken = 0;
    for (int i = 0; i < 3; i++)
        DO(fanlight_local_allocate(1 << 20, &p));
    CHECK(taken == 3 << 20);
    DO(fanlight_put(fanlight_add(p, (1 << 20) - 8), &value, 8));
    MPI_Allgather(&p, sizeof p, MPI_BYTE, theirs, sizeof p, MPI_BYTE, MPI_COMM_WORLD);
    for (int u = 0; u < units; u++) {
        fanlight_locality locality;
        DO(fanlight_get(&got, fanlight_add(theirs[u], (1 << 20) - 8), 8));
        CHECK(got == 100 + u);
        DO(fanlight_unit_locality(FANLIGHT_TEAM_ALL, u, &locality));
        CHECK(locality.node == (u == units - 1));
    }
    WRONG(FANLIGHT_ERR_MEMORY, fanlight_local_allocate(1, &p));
    DO(fanlight_team_barrier(FANLIGHT_TEAM_ALL));
    DO(fanlight_exit());
    MPI_Finalize();
    WRONG(FANLIGHT_ERR_STATE, fanlight_init());
    if (me == 0)
        printf("ok\n");
    return 0;
}

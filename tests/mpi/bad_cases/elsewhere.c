// One rank is inside of a call of MPI's that ends only when others have ended what it takes part in: programs
// that are legal, since MPI promises that a non-blocking collective goes on while its rank is in any blocking call.
//
//   elsewhere [threads]   with MPI_THREAD_MULTIPLE
#include "case.h"

enum { SHORT = 3, LONG = 60000, OPERATIONS = 4 };

static int given[LONG], *received, sums[SHORT], all[64], told[LONG];

static void start(int call, int root, MPI_Request *r) {
    for (int i = 0; i < LONG; ++i) given[i] = i + rank + call, received[i] = -1, told[i] = rank == root ? i - call : -1;
    for (int i = 0; i < SHORT; ++i) sums[i] = -1;
    MPI_Iallreduce(given, received, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
    MPI_Iallreduce(given, sums, SHORT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[1]);
    MPI_Ibcast(told, LONG, MPI_INT, root, MPI_COMM_WORLD, &r[2]);
    MPI_Iallgather(&given[call], 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &r[3]);
}

static void check(int call) {
    const int ranks = size * (size - 1) / 2;
    for (int i = 0; i < LONG; ++i) REQUIRE(received[i] == size * (i + call) + ranks && told[i] == i - call);
    for (int i = 0; i < SHORT; ++i) REQUIRE(sums[i] == size * (i + call) + ranks);
    for (int s = 0; s < size; ++s) REQUIRE(all[s] == 2 * call + s);
}

// What rank `away` is in meanwhile, and the others come to afterwards.
static const char *const calls[] = {"MPI_Recv", "MPI_Probe", "MPI_Send", "MPI_Win_fence", "MPI_Comm_dup", "MPI_File_open"};
enum { CALLS = sizeof calls / sizeof *calls };

static void go(int which, int away, MPI_Win window) {
    static char long_message[1 << 20];
    const int peer = (away + 1) % size;
    int token = 0;
    MPI_Comm copy;
    MPI_File file;
    switch (which) {
        case 0:
        case 1:
            if (rank == peer) MPI_Send(&token, 1, MPI_INT, away, which, MPI_COMM_WORLD);
            if (rank != away) break;
            if (which == 1) MPI_Probe(peer, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&token, 1, MPI_INT, peer, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            break;
        case 2:
            if (rank == away) MPI_Send(long_message, sizeof long_message, MPI_CHAR, peer, which, MPI_COMM_WORLD);
            if (rank == peer) MPI_Recv(long_message, sizeof long_message, MPI_CHAR, away, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            break;
        case 3: MPI_Win_fence(0, window); break;
        case 4:
            MPI_Comm_dup(MPI_COMM_WORLD, &copy);
            MPI_Comm_free(&copy);
            break;
        case 5:
            // Not for what the file would be.
            MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
            MPI_File_close(&file);
    }
}

int main(int argc, char **argv) {
    if (argc < 2) begin(&argc, &argv);
    else if (!begin_with_threads(&argc, &argv)) return 0;
    received = malloc(sizeof(int) * LONG);
    int *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Request r[OPERATIONS];
    start(0, 0, r);
    MPI_Waitall(OPERATIONS, r, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int call = 0; call < CALLS * size; ++call) {
        const int which = call % CALLS, away = call / CALLS;
        start(call, call % size, r);
        if (rank == away) {
            usleep(2000);  // the others wait for it
            go(which, away, window);
            MPI_Waitall(OPERATIONS, r, MPI_STATUSES_IGNORE);
        } else {
            MPI_Waitall(OPERATIONS, r, MPI_STATUSES_IGNORE);
            go(which, away, window);
        }
        check(call);
        if (rank == 0 && getenv("ELSEWHERE")) fprintf(stderr, "rank %d in %s\n", away, calls[which]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&window);
    // MPI_Finalize: of a request that the program has freed, as MPI libraries allow.
    start(1, 0, r);
    if (rank == size - 1) {
        for (int i = 0; i < OPERATIONS; ++i) MPI_Request_free(&r[i]);
    } else {
        MPI_Waitall(OPERATIONS, r, MPI_STATUSES_IGNORE);
        check(1);
        if (rank == 0) puts("ok");
    }
    MPI_Finalize();
    return 0;
}

// Buffers of MPI_Alloc_mem, which others load from: their owners change them at once after each call, they are freed
// and allocated again between calls, lie at any place of a block, and wait long for their ends.
//
//   peers_memory [killed]: the last rank ends while others read what is its own
#include <signal.h>

#include "case.h"

enum { COUNT = 40000, ROUNDS = 30 };

static int *new_block(void) {
    int *block;
    REQUIRE(MPI_Alloc_mem((COUNT + 1024) * sizeof(int), MPI_INFO_NULL, &block) == MPI_SUCCESS);
    return block;
}

static void fill(int *from, int value) {
    for (int i = 0; i < COUNT; ++i) from[i] = value + i % 1000;
}
static void expect(const int *got, int times, int value) {
    for (int i = 0; i < COUNT; ++i) REQUIRE(got[i] == times * (i % 1000) + value);
}
// In KiB.
static long resident(void) {
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    REQUIRE(statm && fscanf(statm, "%*d %ld", &pages) == 1);
    fclose(statm);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
static int sum_of_ranks(void) { return size * (size - 1) / 2; }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int *in = new_block(), *out = new_block();
    for (int i = 0; i < ROUNDS; ++i) {
        if (argc > 1 && i == ROUNDS / 2 && rank == size - 1) {
            usleep(300000);  // the others are waiting by now
            raise(SIGKILL);
        }
        // Part of a block, by an odd place.
        int *const from = in + i % 7, *const to = out + i % 5;
        fill(from, rank + i);
        if (i % size == rank) usleep(2000);
        REQUIRE(MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
        memset(in, 0x77, COUNT * sizeof(int));
        expect(to, size, sum_of_ranks() + size * i);

        // The root's is its own again; the others' were never read.
        fill(from, i);
        if (rank != i % size) memset(from, 0, COUNT * sizeof(int));
        if ((i + 1) % size == rank) usleep(2000);
        REQUIRE(MPI_Bcast(from, COUNT, MPI_INT, i % size, MPI_COMM_WORLD) == MPI_SUCCESS);
        expect(from, 1, i);
        memset(in, 0x77, COUNT * sizeof(int));

        // In place, and ended late.
        fill(to, rank);
        MPI_Request request;
        REQUIRE(MPI_Iallreduce(MPI_IN_PLACE, to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        if (i % 3 == rank) usleep(2000);
        REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        expect(to, size, sum_of_ranks());
        REQUIRE(MPI_Ibcast(from, COUNT, MPI_INT, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        // Rank 0 may wait for who reads, but not for its wait.
        int token = 0;
        if (rank == 0) {
            REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            for (int r = 1; r < size; ++r) MPI_Send(&token, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        if (i % 2 == rank % 2) {
            REQUIRE(MPI_Free_mem(in) == MPI_SUCCESS);
            int *const before = in = new_block();
            REQUIRE(MPI_Free_mem(out) == MPI_SUCCESS);
            out = new_block();
            REQUIRE(in == before && in != out);
        }
    }
    // A persistent one, whose buffers are filled anew for each start.
    MPI_Request again = MPI_REQUEST_NULL;
#if MPI_VERSION >= 4
    REQUIRE(MPI_Allreduce_init(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &again) == MPI_SUCCESS);
    for (int i = 0; i < ROUNDS; ++i) {
        fill(in, i * rank);
        MPI_Start(&again);
        if (i % size == rank) usleep(1000);
        REQUIRE(MPI_Wait(&again, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        memset(in, 0x77, COUNT * sizeof(int));
        expect(out, size, i * sum_of_ranks());
    }
    MPI_Request_free(&again);
#endif
    (void)again;
    // One-sided operations on it are the MPI library's, in windows on it and in its own.
    MPI_Win window;
    REQUIRE(MPI_Win_create(in, COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    fill(in, rank);
    MPI_Win_fence(0, window);
    MPI_Get(out, COUNT, MPI_INT, (rank + 1) % size, 0, COUNT, MPI_INT, window);
    MPI_Win_fence(0, window);
    expect(out, 1, (rank + 1) % size);
    fill(out, 100 + rank);
    MPI_Put(out, COUNT, MPI_INT, (rank + 1) % size, 0, COUNT, MPI_INT, window);
    MPI_Win_fence(0, window);
    expect(in, 1, 100 + (rank + size - 1) % size);
    MPI_Win_free(&window);

    // What is asked for is kept.
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536");
    void *aligned;
    REQUIRE(MPI_Alloc_mem(100000, info, &aligned) == MPI_SUCCESS);
#if MPI_VERSION >= 4
    REQUIRE((size_t)aligned % 65536 == 0);
#endif
    REQUIRE(MPI_Free_mem(aligned) == MPI_SUCCESS);
    // What says anything else is the MPI library's, which has it from malloc; and so it is freed.
    MPI_Info_set(info, "another", "key");
    const long before = resident();
    for (int i = 0; i < 40; ++i) {
        void *theirs;
        REQUIRE(MPI_Alloc_mem(1 << 20, info, &theirs) == MPI_SUCCESS);
        memset(theirs, 1, 1 << 20);
        REQUIRE(MPI_Free_mem(theirs) == MPI_SUCCESS);
    }
    REQUIRE(resident() - before < 20 * 1024);
    MPI_Info_free(&info);
    void *small;
    REQUIRE(MPI_Alloc_mem(100, MPI_INFO_NULL, &small) == MPI_SUCCESS);
    REQUIRE(MPI_Free_mem(small) == MPI_SUCCESS);
    MPI_Free_mem(in);
    MPI_Free_mem(out);
    return done();
}

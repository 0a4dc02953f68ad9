// Buffers in windows whose memory the MPI library shares: used in every order of ranks, in many windows at a time, of
// lengths that differ from rank to rank, freed while others have not yet waited, with private memory in their place.
//
//   shared_windows allocate | shared
#include <stdint.h>
#include <sys/mman.h>

#include "case.h"

enum { COUNT = 40000, WINDOWS = 20, ROUNDS = 4 };

static int is_shared;

static int *open_window(MPI_Aint bytes, MPI_Comm comm, MPI_Win *win) {
    int *base;
    if (is_shared) REQUIRE(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, comm, &base, win) == MPI_SUCCESS);
    else REQUIRE(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &base, win) == MPI_SUCCESS);
    return base;
}

static void fill(int *from, int value) {
    for (int i = 0; i < COUNT; ++i) from[i] = value + i % 1000;
}
static void expect(const int *got, int times, int value) {
    for (int i = 0; i < COUNT; ++i) REQUIRE(got[i] == times * (i % 1000) + value);
}

// Offers and puts, from `in` to `out`, each rank's own; they may be anywhere.
static void use(MPI_Comm comm, int *in, int *out, int i) {
    const int sum = size * (size - 1) / 2;
    int r;
    MPI_Comm_rank(comm, &r);
    fill(in, r + i);
    REQUIRE(MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    memset(in, 0x77, COUNT * sizeof(int));
    expect(out, size, sum + size * i);
    fill(in, r == i % size ? i : -1);
    REQUIRE(MPI_Bcast(in, COUNT, MPI_INT, i % size, comm) == MPI_SUCCESS);
    expect(in, 1, i);
    fill(in, r);
    REQUIRE(MPI_Alltoall(in, COUNT / size, MPI_INT, out, COUNT / size, MPI_INT, comm) == MPI_SUCCESS);
    memset(in, 0x77, COUNT * sizeof(int));
    for (int q = 0; q < size; ++q)
        for (int k = 0; k < COUNT / size; ++k) REQUIRE(out[q * (COUNT / size) + k] == q + (r * (COUNT / size) + k) % 1000);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    is_shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    const MPI_Aint bytes = (COUNT + 1000) * sizeof(int);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    int *own = malloc(2 * bytes);

    for (int i = 0; i < ROUNDS; ++i) {
        MPI_Win in_win, out_win;
        int *in = open_window(bytes + rank * 1000, MPI_COMM_WORLD, &in_win), *out = open_window(bytes, reversed, &out_win);
        use(MPI_COMM_WORLD, in + 1, out, i);
        use(reversed, out, in + 3, i);
        use(MPI_COMM_WORLD, in, own, i);
        use(MPI_COMM_WORLD, own, in, i);

        // Who has what is read has waited; the others have not.
        MPI_Request request;
        fill(in, rank == 0 ? 5 : -1);
        int *const to = rank == 0 ? in : own;
        if (rank == 0) usleep(5000);
        REQUIRE(MPI_Ibcast(to, COUNT, MPI_INT, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        if (rank == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_free(&in_win);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank != 0) expect(own, 1, 5);
        MPI_Win_free(&out_win);

        // In its place, and nobody else's.
        void *const page = (void *)((uintptr_t)in / 4096 * 4096);
        int *const here = mmap(page, 2 * (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(here != MAP_FAILED);
        use(MPI_COMM_WORLD, here, own, i);
        use(MPI_COMM_WORLD, own, here, i);
        munmap(here, 2 * (size_t)bytes);
    }

    // More at a time than are known.
    MPI_Win wins[WINDOWS];
    int *parts[WINDOWS];
    for (int w = 0; w < WINDOWS; ++w) parts[w] = open_window(bytes, MPI_COMM_WORLD, &wins[w]);
    for (int w = 0; w < WINDOWS; ++w) use(MPI_COMM_WORLD, parts[w], parts[(w + 1) % WINDOWS], w);
    for (int w = 0; w < WINDOWS; w += 2) MPI_Win_free(&wins[w]);
    for (int w = 1; w < WINDOWS; w += 2) use(MPI_COMM_WORLD, parts[w], own, w);
    for (int w = 1; w < WINDOWS; w += 2) MPI_Win_free(&wins[w]);

    // One rank has it all, as programs that share one block do; and none has any.
    MPI_Win win;
    int *const block = open_window(rank == 0 ? bytes : 0, MPI_COMM_WORLD, &win);
    use(MPI_COMM_WORLD, rank == 0 ? block : own, own + COUNT, 3);
    MPI_Win_free(&win);
    open_window(0, MPI_COMM_WORLD, &win);
    MPI_Win_free(&win);

    // What is asked of it is the library's.
    int *const target = open_window(bytes, MPI_COMM_WORLD, &win), *flavor, found;
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
    REQUIRE(found && *flavor == (is_shared ? MPI_WIN_FLAVOR_SHARED : MPI_WIN_FLAVOR_ALLOCATE));
    fill(own, rank);
    MPI_Win_fence(0, win);
    MPI_Put(own, COUNT, MPI_INT, (rank + 1) % size, 0, COUNT, MPI_INT, win);
    MPI_Win_fence(0, win);
    expect(target, 1, (rank + size - 1) % size);
    REQUIRE(MPI_Bcast(target, COUNT, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    expect(target, 1, size - 1);
    MPI_Win_free(&win);

    free(own);
    MPI_Comm_free(&reversed);
    return done();
}

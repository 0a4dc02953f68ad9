// Many calls of many classes under the guard (FANLIGHT_GUARD): random operations, lengths, roots and
// communicators, ranks that come late, and every result is checked.  A rank that decided otherwise than the
// others would wait for ever, or have another result.
//
//   guarded CALLS [SEED]
#include <stdint.h>
#include <time.h>

#include "case.h"

enum { longest = 1 << 16, lengths = 5, communicators = 4 };
static const int counts[lengths] = {1, 3, 100, 1000, 9000};  // each a class of its own

static uint64_t state;
static unsigned draw(unsigned below) {  // the same on all ranks
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static int64_t in[longest], out[longest], expected[longest];
static int r, s;  // of the communicator

// What rank `from` gives, for rank `to` where each has its own.
static int64_t value(int call, int from, int to, int i) { return (int64_t)call * 131 + from * 1009 + to * 17 + i % 50; }
static void fill(int call, int n, int ranks) {
    for (int to = 0; to < ranks; ++to)
        for (int i = 0; i < n; ++i) in[to * n + i] = value(call, r, to, i);
}
static void check(int call, const char *operation, int n) {
    for (int i = 0; i < n; ++i)
        if (out[i] != expected[i]) {
            fprintf(stderr, "WRONG call %d, %s of %d: element %d on rank %d is %lld and not %lld\n", call, operation, n, i, r,
                    (long long)out[i], (long long)expected[i]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}
static int64_t sum(int call, int ranks, int to, int i) {
    int64_t all = 0;
    for (int from = 0; from < ranks; ++from) all += value(call, from, to, i);
    return all;
}

// Numbers so small that their sum has no rounding.
static void floats(int call, int n, MPI_Comm comm) {
    double *const give = (double *)in, *const got = (double *)out;
    for (int i = 0; i < n; ++i) give[i] = (double)value(call, r, 0, i);
    MPI_Allreduce(give, got, n, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < n; ++i) REQUIRE(got[i] == (double)sum(call, s, 0, i));
}

static void one(int call, MPI_Comm comm) {
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &s);
    const int n = counts[draw(s > 4 ? lengths - 1 : lengths)], root = (int)draw((unsigned)s), what = (int)draw(12);
    int each[64], places[64];
    for (int i = 0; i < s; ++i) each[i] = n, places[i] = i * n;
    memset(out, 0, sizeof(int64_t) * (size_t)(n * s));
    fill(call, n, s);
    switch (what) {
        case 0: MPI_Barrier(comm); return;
        case 1:
            for (int i = 0; i < n; ++i) expected[i] = value(call, root, 0, i);
            memcpy(out, in, sizeof(int64_t) * (size_t)n);
            MPI_Bcast(out, n, MPI_INT64_T, root, comm);
            return check(call, "bcast", n);
        case 2:
            for (int i = 0; i < n; ++i) expected[i] = sum(call, s, 0, i);
            MPI_Allreduce(in, out, n, MPI_INT64_T, MPI_SUM, comm);
            return check(call, "allreduce", n);
        case 3:
            for (int i = 0; i < n; ++i) expected[i] = sum(call, s, 0, i);
            MPI_Reduce(in, out, n, MPI_INT64_T, MPI_SUM, root, comm);
            return check(call, "reduce", r == root ? n : 0);
        case 4:
            for (int i = 0; i < n; ++i) expected[i] = sum(call, r + 1, 0, i);
            MPI_Scan(in, out, n, MPI_INT64_T, MPI_SUM, comm);
            return check(call, "scan", n);
        case 5:
            for (int i = 0; i < n; ++i) expected[i] = sum(call, s, r, i);
            MPI_Reduce_scatter_block(in, out, n, MPI_INT64_T, MPI_SUM, comm);
            return check(call, "reduce_scatter_block", n);
        case 6:
        case 7:
            for (int from = 0; from < s; ++from)
                for (int i = 0; i < n; ++i) expected[from * n + i] = value(call, from, 0, i);
            if (what == 6) MPI_Allgather(in, n, MPI_INT64_T, out, n, MPI_INT64_T, comm);
            else MPI_Allgatherv(in, n, MPI_INT64_T, out, each, places, MPI_INT64_T, comm);
            return check(call, "allgather(v)", n * s);
        case 8:
        case 9:
            for (int from = 0; from < s; ++from)
                for (int i = 0; i < n; ++i) expected[from * n + i] = value(call, from, r, i);
            if (what == 8) MPI_Alltoall(in, n, MPI_INT64_T, out, n, MPI_INT64_T, comm);
            else MPI_Alltoallv(in, each, places, MPI_INT64_T, out, each, places, MPI_INT64_T, comm);
            return check(call, "alltoall(v)", n * s);
        case 10:
            for (int from = 0; from < s; ++from)
                for (int i = 0; i < n; ++i) expected[from * n + i] = value(call, from, 0, i);
            if (draw(2)) MPI_Gather(in, n, MPI_INT64_T, out, n, MPI_INT64_T, root, comm);
            else MPI_Gatherv(in, n, MPI_INT64_T, out, each, places, MPI_INT64_T, root, comm);
            return check(call, "gather(v)", r == root ? n * s : 0);
        default: return floats(call, n, comm);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    REQUIRE(size <= 8);
    const int calls = atoi(argv[1]);
    state = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    MPI_Comm comm[communicators] = {MPI_COMM_WORLD};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm[3]);
    for (int call = 0; call < calls; ++call) {
        // Most often the same one, so that its classes are found out.
        const unsigned c = draw(8) < 5 ? 0 : 1 + draw(communicators - 1), late = draw(40), who = draw((unsigned)size);
        if (late == 0 && rank == (int)who) nanosleep(&(struct timespec){0, (long)(call % 300) * 1000}, NULL);
        const uint64_t before = state;
        one(call, comm[c]);
        state = before + 1;  // communicators of different sizes draw differently
    }
    for (int i = 1; i < communicators; ++i) MPI_Comm_free(&comm[i]);
    return done();
}

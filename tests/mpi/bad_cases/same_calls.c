// The same call again, and then one that differs from it in one thing: the blocks' lengths, their places, a datatype, the root,
// the buffers.  What was remembered of the first one must not serve the other.  Blocking calls, then non-blocking ones.
#include <stdbool.h>

#include "case.h"

enum { RANKS = 8, ROOM = 1024 };
static const unsigned char untouched = 0x5a;

enum difference { NONE, LONGER_LAST, LONGER_FIRST, EMPTY, SHIFTED, GAP, REVERSED, SAME_SIZE, OTHER_SIZE, DERIVED, DERIVED_SHIFTED, DOUBLED, OTHER_ROOT, IN_PLACE, DIFFERENCES };

// The blocks of one side, by their ranks: in elements, and where they are in bytes.
struct side {
    MPI_Datatype type;
    int counts[RANKS], at[RANKS], bytes[RANKS], offset[RANKS];
};

static MPI_Datatype pair;

static int bytes_between(int from, int to, enum difference d) {
    if (d == EMPTY && from == to) return 0;
    return (d == DOUBLED ? 16 : 8) * (1 + (from + 2 * to) % 3 + (d == LONGER_LAST && from == size - 1) + (d == LONGER_FIRST && from == 0));
}

static struct side lay_out(const int *bytes, enum difference d) {
    struct side s = {.type = MPI_INT};
    int unit = 4, next = d == SHIFTED || d == DERIVED_SHIFTED ? 16 : 0;
    if (d == SAME_SIZE) s.type = MPI_FLOAT;
    if (d == OTHER_SIZE || d == DOUBLED) s.type = MPI_DOUBLE, unit = 8;
    if (d == DERIVED || d == DERIVED_SHIFTED) s.type = pair, unit = 8;
    for (int k = 0; k < size; ++k) {
        const int r = d == REVERSED ? size - 1 - k : k;
        if (d == GAP && k == size - 1) next += 24;
        s.bytes[r] = bytes[r], s.offset[r] = next;
        s.counts[r] = bytes[r] / unit, s.at[r] = next / unit;
        next += bytes[r];
    }
    return s;
}

static unsigned char content(int call, int from, int to, int i) { return (unsigned char)(call * 7 + from * 31 + to * 17 + i); }

static void fill(unsigned char *at, int call, int from, int to, int bytes) {
    for (int i = 0; i < bytes; ++i) at[i] = content(call, from, to, i);
}

static int call_number;

// Blocking, or not: each is over when it returns.
static bool starts;
static MPI_Request request;
static int waited(int error) { return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error; }
#define CALL(Name, name, ...) (starts ? waited(MPI_I##name(__VA_ARGS__, &request)) : MPI_##Name(__VA_ARGS__))

// One call, whose input, output or both differ.
static void call(const char *name, enum difference d, bool differs_in, bool differs_out) {
    const bool scatter = !strcmp(name, "scatterv"), gather = !strcmp(name, "gatherv"), everybody = !strcmp(name, "alltoallv");
    const int root = scatter || gather ? (d == OTHER_ROOT ? size - 1 : 0) : -1, n = ++call_number;
    const bool in_place = d == IN_PLACE && (root < 0 || rank == root);
    static unsigned char memory[2][2][ROOM];
    unsigned char *const in = memory[n % 2][0], *const out = memory[n % 2][1];
    const bool changes_lengths = d == LONGER_LAST || d == LONGER_FIRST || d == EMPTY || d == DOUBLED;
    int sent[RANKS], received[RANKS];
    for (int r = 0; r < size; ++r) {
        sent[r] = everybody ? bytes_between(rank, r, d) : bytes_between(r, 0, d);
        received[r] = everybody ? bytes_between(r, rank, d) : bytes_between(r, 0, d);
    }
    if (everybody && d == IN_PLACE)  // as much to each as from it
        for (int r = 0; r < size; ++r) sent[r] = received[r] = 8 * (1 + (r + rank) % 3);
    const struct side from = lay_out(sent, differs_in || changes_lengths ? d : NONE), to = lay_out(received, differs_out || changes_lengths ? d : NONE);
    memset(in, untouched, ROOM);
    memset(out, untouched, ROOM);
    unsigned char expected[ROOM];
    memset(expected, untouched, ROOM);

    if (everybody) {
        unsigned char *const source = in_place ? out : in;
        for (int r = 0; r < size; ++r) fill(source + (in_place ? to : from).offset[r], n, rank, r, sent[r]);
        for (int r = 0; r < size; ++r) fill(expected + to.offset[r], n, r, rank, received[r]);
        REQUIRE(CALL(Alltoallv, alltoallv, in_place ? MPI_IN_PLACE : in, from.counts, from.at, from.type, out, to.counts, to.at, to.type, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (scatter) {
        for (int r = 0; r < size; ++r) fill(in + from.offset[r], n, root, r, sent[r]);
        const int own = to.counts[rank];
        if (!in_place) fill(expected, n, root, rank, to.bytes[rank]);
        REQUIRE(CALL(Scatterv, scatterv, in, from.counts, from.at, from.type, in_place ? MPI_IN_PLACE : out, own, to.type, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        const bool receives = !gather || rank == root;
        const int own = from.counts[rank];
        fill(in_place ? out + to.offset[rank] : in, n, rank, 0, sent[rank]);
        for (int r = 0; r < size && receives; ++r) fill(expected + to.offset[r], n, r, 0, received[r]);
        if (gather)
            REQUIRE(CALL(Gatherv, gatherv, in_place ? MPI_IN_PLACE : in, own, from.type, out, to.counts, to.at, to.type, root, MPI_COMM_WORLD) == MPI_SUCCESS);
        else
            REQUIRE(CALL(Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : in, own, from.type, out, to.counts, to.at, to.type, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    if (memcmp(out, expected, ROOM)) {
        int i = 0;
        while (out[i] == expected[i]) ++i;
        fprintf(stderr, "WRONG %s%s: difference %d (%d, %d), call %d on rank %d: byte %d is %d, not %d\n", starts ? "i" : "", name, d, differs_in, differs_out, n, rank, i, out[i],
                expected[i]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

// Of blocks of one length, of others, and of the first one again, along a ring.
static void neighbors(void) {
    const int next[1] = {(rank + 1) % size}, before[1] = {(rank + size - 1) % size};
    MPI_Comm ring;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, before, MPI_UNWEIGHTED, 1, next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    for (int n = 0; n < 60; ++n) {
        int in[4], out[4] = {-1, -1, -1, -1};
        const int place[1] = {0}, uneven = n % 3 == 2, sent = uneven ? 1 + rank % 3 : 2, received[1] = {uneven ? 1 + before[0] % 3 : 2};
        for (int i = 0; i < 4; ++i) in[i] = 1000 * n + 10 * rank + i;
        if (uneven) MPI_Neighbor_allgatherv(in, sent, MPI_INT, out, received, place, MPI_INT, ring);
        else MPI_Neighbor_allgather(in, sent, MPI_INT, out, received[0], MPI_INT, ring);
        for (int i = 0; i < 4; ++i) REQUIRE(out[i] == (i < received[0] ? 1000 * n + 10 * before[0] + i : -1));
    }
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    REQUIRE(size <= RANKS);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);  // from where on non-blocking ones are served
    const char *const names[] = {"gatherv", "scatterv", "allgatherv", "alltoallv"};
    for (int k = 0; k < 8; ++k) {
        const char *const name = names[k % 4];
        starts = k >= 4;
        for (int d = 0; d < DIFFERENCES; ++d)
            for (int sides = 1; sides < 4; ++sides) {
                for (int i = 0; i < 3; ++i) call(name, NONE, false, false);
                for (int i = 0; i < 2; ++i) call(name, d, sides & 1, sides & 2);
                call(name, NONE, false, false);
            }
    }
    MPI_Type_free(&pair);
    neighbors();
    return done();
}

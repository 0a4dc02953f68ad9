// fanlight_allgatherv_any: every count, displacement and byte of what it delivers, and what it
// says where the room does not suffice or an argument is wrong.
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>

#include "../bad_cases/case.h"
#include "fanlight/allgatherv_any.h"

static __typeof__(&fanlight_allgatherv_any) any;

// How many bytes rank r gives in a call of this kind.
enum { SILENT, ONE_SPEAKS, SPIKES, INLINE_EDGE, STAGED, LONG, MIXED, KINDS };
static int length(int kind, int r, int size, int call) {
    const int turn = (r * 5 + call * 3) % 7;
    switch (kind) {
        case SILENT: return 0;
        case ONE_SPEAKS: return r == call % size ? 16 * (1 + call % 5) : 0;
        case SPIKES: return 16 * (turn % 4);
        case INLINE_EDGE: return 80 + 16 * (turn % 5);
        case STAGED: return turn % 2 ? 0 : 1600 * turn;
        case LONG: return r == call % size ? 300000 : 65456 + 16 * (turn - 3);
        default: return turn == 0 ? 0 : turn == 1 ? 120000 : turn == 2 ? 20000 : 16 * turn;
    }
}
static unsigned char byte_of(int r, int i, int call) { return (unsigned char)(r * 37 + i * 7 + i / 251 + call * 13 + 1); }

// What the ranks give: `bytes` of a type of `unit` bytes that lie `gap` bytes apart.
static unsigned char *give(int r, int bytes, int unit, int gap, int call) {
    unsigned char *memory = malloc((size_t)(bytes / unit + 1) * (size_t)(unit + gap));
    memset(memory, 0xa5, (size_t)(bytes / unit + 1) * (size_t)(unit + gap));
    for (int i = 0; i < bytes; ++i) memory[i / unit * (unit + gap) + i % unit] = byte_of(r, i, call);
    return memory;
}

typedef struct { MPI_Datatype type; int unit, gap; } Type;

// One call; with less room than there are elements by `lacking`.
static void check(MPI_Comm comm, int kind, int call, Type in, Type out, int lacking) {
    int r, n, total = 0;
    MPI_Comm_rank(comm, &r);
    MPI_Comm_size(comm, &n);
    for (int s = 0; s < n; ++s) total += length(kind, s, n, call);
    const int own = length(kind, r, n, call), elements = total / out.unit;
    if (elements < lacking) return;
    const size_t room = (size_t)(elements + 2) * (size_t)(out.unit + out.gap);
    unsigned char *send = give(r, own, in.unit, in.gap, call), *before = give(r, own, in.unit, in.gap, call);
    unsigned char *receive = malloc(room), *expected = malloc(room);
    memset(receive, 0x5a, room);
    memset(expected, 0x5a, room);
    int *counts = malloc(sizeof(int) * (size_t)n), *displs = malloc(sizeof(int) * (size_t)n), at = 0;
    for (int s = 0; s < n; ++s) counts[s] = displs[s] = -1;
    for (int s = 0; s < n; ++s)
        for (int i = 0; i < length(kind, s, n, call); ++i, ++at)
            expected[(size_t)(at / out.unit) * (size_t)(out.unit + out.gap) + (size_t)(at % out.unit)] = byte_of(s, i, call);
    int error = any(send, own / in.unit, in.type, receive, elements - lacking, counts, displs, out.type, comm);
    REQUIRE(error == (lacking ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    at = 0;
    for (int s = 0; s < n; ++s) {
        REQUIRE(counts[s] == length(kind, s, n, call) / out.unit);
        REQUIRE(displs[s] == at);
        at += counts[s];
    }
    if (lacking) {
        for (size_t i = 0; i < room; ++i) REQUIRE(receive[i] == 0x5a);
        // Nothing is lost.
        if (call % 2) MPI_Allgatherv(send, own / in.unit, in.type, receive, counts, displs, out.type, comm);
        else REQUIRE(any(send, own / in.unit, in.type, receive, elements, counts, displs, out.type, comm) == MPI_SUCCESS);
    }
    REQUIRE(memcmp(receive, expected, room) == 0);
    REQUIRE(memcmp(send, before, (size_t)(own / in.unit + 1) * (size_t)(in.unit + in.gap)) == 0);
    free(send), free(before), free(receive), free(expected), free(counts), free(displs);
}

static void check_arguments(MPI_Comm comm, MPI_Datatype pair) {
    int one = 1, many[64], counts[64], displs[64], n;
    MPI_Comm_size(comm, &n);
    REQUIRE(any(&one, -1, MPI_INT, many, 64, counts, displs, MPI_INT, comm) == MPI_ERR_COUNT);
    REQUIRE(any(&one, 1, MPI_INT, many, -1, counts, displs, MPI_INT, comm) == MPI_ERR_COUNT);
    REQUIRE(any(&one, 1, MPI_DATATYPE_NULL, many, 64, counts, displs, MPI_INT, comm) == MPI_ERR_TYPE);
    REQUIRE(any(NULL, 1, MPI_INT, many, 64, counts, displs, MPI_INT, comm) == MPI_ERR_BUFFER);
    REQUIRE(any(MPI_IN_PLACE, 1, MPI_INT, many, 64, counts, displs, MPI_INT, comm) == MPI_ERR_BUFFER);
    REQUIRE(any(&one, 1, MPI_INT, NULL, 64, counts, displs, MPI_INT, comm) == MPI_ERR_BUFFER);
    REQUIRE(any(&one, 1, MPI_INT, many, 64, NULL, displs, MPI_INT, comm) == MPI_ERR_ARG);
    // Everybody gives an int, which is half of what is received.
    REQUIRE(any(&one, 1, MPI_INT, many, 32, counts, displs, pair, comm) == MPI_ERR_TYPE);
    REQUIRE(any(NULL, 0, MPI_INT, NULL, 0, counts, displs, MPI_INT, comm) == MPI_SUCCESS);
    for (int s = 0; s < n; ++s) REQUIRE(counts[s] == 0 && displs[s] == 0);
}

static void check_intercommunicator(void) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
    int one = 1, many[64], counts[64], displs[64];
    REQUIRE(any(&one, 1, MPI_INT, many, 64, counts, displs, MPI_INT, inter) == MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    *(void **)&any = dlsym(RTLD_DEFAULT, "fanlight_allgatherv_any");
    REQUIRE(any != NULL);
    MPI_Datatype pair, gapped, wide;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 12, &gapped);
    MPI_Type_contiguous(16, MPI_BYTE, &wide);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&gapped);
    MPI_Type_commit(&wide);
    const Type bytes = {MPI_BYTE, 1, 0}, doubles = {MPI_DOUBLE, 8, 0}, pairs = {pair, 8, 0}, gaps = {gapped, 8, 4},
               spikes = {wide, 16, 0};
    const Type types[][2] = {{bytes, bytes}, {doubles, doubles}, {gaps, pairs}, {pairs, gaps}, {spikes, bytes}, {bytes, spikes}};
    const int type_pairs = sizeof types / sizeof types[0];

    MPI_Comm reversed, some;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &some);
    for (int call = 0; call < 12; ++call) {
        for (int kind = 0; kind < KINDS; ++kind) {
            const Type *t = types[(call + kind) % type_pairs];
            check(MPI_COMM_WORLD, kind, call, t[0], t[1], 0);
            if (call % 3 == kind % 3) check(MPI_COMM_WORLD, kind, call, t[0], t[1], 1 + call % 3);
            if (kind == SPIKES) check(MPI_COMM_WORLD, kind, call + 1, t[0], t[1], 0);
        }
        // Others come between.
        checked_allreduce(MPI_COMM_WORLD, call, 9);
        check(reversed, call % KINDS, call, spikes, spikes, call % 2);
        check(some, (call + 3) % KINDS, call, bytes, doubles, 0);
        check(MPI_COMM_SELF, call % KINDS, call, gaps, bytes, 0);
    }
    // Many short ones back to back: no rank waits for the slowest.
    for (int call = 0; call < 300; ++call)
        check(MPI_COMM_WORLD, call % 3 == 0 ? SILENT : call % 3 == 1 ? ONE_SPEAKS : SPIKES, call, spikes, spikes, 0);
    check_arguments(MPI_COMM_WORLD, pair);
    if (size > 1) check_intercommunicator();
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&some);
    MPI_Type_free(&pair);
    MPI_Type_free(&gapped);
    MPI_Type_free(&wide);
    return done();
}

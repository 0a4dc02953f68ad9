#include "operations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Each operation is called with the same arguments by either side, and as a non-blocking one that is waited for.
#define OPERATION(name, Name, ...)                                                                             \
    static int name##_native(const Call *c) { return PMPI_##Name(__VA_ARGS__); }                               \
    static int name##_fanlight(const Call *c) { return MPI_##Name(__VA_ARGS__); }                              \
    static int i##name##_native(const Call *c)                                                                 \
    {                                                                                                          \
        MPI_Request request;                                                                                   \
        int error = PMPI_I##name(__VA_ARGS__, &request);                                                       \
        return error != MPI_SUCCESS ? error : PMPI_Wait(&request, MPI_STATUS_IGNORE);                          \
    }                                                                                                          \
    static int i##name##_fanlight(const Call *c)                                                               \
    {                                                                                                          \
        MPI_Request request;                                                                                   \
        int error = MPI_I##name(__VA_ARGS__, &request);                                                        \
        return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);                           \
    }

#define OWN c->count, c->type
#define BLOCKS c->counts, c->displacements, c->type

OPERATION(barrier, Barrier, c->comm)
OPERATION(bcast, Bcast, c->receive, OWN, c->root, c->comm)
OPERATION(reduce, Reduce, c->send, c->receive, OWN, MPI_SUM, c->root, c->comm)
OPERATION(allreduce, Allreduce, c->send, c->receive, OWN, MPI_SUM, c->comm)
OPERATION(allgather, Allgather, c->send, OWN, c->receive, OWN, c->comm)
OPERATION(allgatherv, Allgatherv, c->send, OWN, c->receive, BLOCKS, c->comm)
OPERATION(gather, Gather, c->send, OWN, c->receive, OWN, c->root, c->comm)
OPERATION(gatherv, Gatherv, c->send, OWN, c->receive, BLOCKS, c->root, c->comm)
OPERATION(scatter, Scatter, c->send, OWN, c->receive, OWN, c->root, c->comm)
OPERATION(scatterv, Scatterv, c->send, BLOCKS, c->receive, OWN, c->root, c->comm)
OPERATION(alltoall, Alltoall, c->send, OWN, c->receive, OWN, c->comm)
OPERATION(alltoallv, Alltoallv, c->send, BLOCKS, c->receive, BLOCKS, c->comm)
OPERATION(reduce_scatter_block, Reduce_scatter_block, c->send, c->receive, OWN, MPI_SUM, c->comm)
OPERATION(reduce_scatter, Reduce_scatter, c->send, c->receive, c->counts, c->type, MPI_SUM, c->comm)
OPERATION(scan, Scan, c->send, c->receive, OWN, MPI_SUM, c->comm)
OPERATION(exscan, Exscan, c->send, c->receive, OWN, MPI_SUM, c->comm)
OPERATION(neighbor_allgather, Neighbor_allgather, c->send, OWN, c->receive, OWN, c->ring)
OPERATION(neighbor_alltoall, Neighbor_alltoall, c->send, OWN, c->receive, OWN, c->ring)

#define CALLS(name) #name, #name, {name##_native, name##_fanlight}, {"i" #name, {i##name##_native, i##name##_fanlight}}

const Operation operations[] = {
    // names, calls              by_default size   reduces rooted synchronizes send receive
    {CALLS(barrier),              true,  false, false, false, true,  NOTHING, NOTHING},
    {CALLS(bcast),                true,  true,  false, true,  false, NOTHING, ONE},
    {CALLS(reduce),               true,  true,  true,  true,  false, ONE,     ONE},
    {CALLS(allreduce),            true,  true,  true,  false, true,  ONE,     ONE},
    {CALLS(allgather),            true,  true,  false, false, true,  ONE,     EVERY},
    {CALLS(allgatherv),           true,  true,  false, false, true,  ONE,     EVERY},
    {CALLS(gather),               true,  true,  false, true,  false, ONE,     EVERY},
    {CALLS(scatter),              true,  true,  false, true,  false, EVERY,   ONE},
    {CALLS(alltoall),             true,  true,  false, false, true,  EVERY,   EVERY},
    {CALLS(reduce_scatter_block), true,  true,  true,  false, true,  EVERY,   ONE},
    {CALLS(scan),                 true,  true,  true,  false, false, ONE,     ONE},
    {CALLS(exscan),               false, true,  true,  false, false, ONE,     ONE},
    {CALLS(gatherv),              false, true,  false, true,  false, ONE,     EVERY},
    {CALLS(scatterv),             false, true,  false, true,  false, EVERY,   ONE},
    {CALLS(alltoallv),            false, true,  false, false, true,  EVERY,   EVERY},
    {CALLS(reduce_scatter),       false, true,  true,  false, true,  EVERY,   ONE},
    {CALLS(neighbor_allgather),   false, true,  false, false, false, ONE,     BOTH},
    {CALLS(neighbor_alltoall),    false, true,  false, false, false, BOTH,    BOTH},
};
const int operation_count = (int)(sizeof operations / sizeof operations[0]);

bool parse_bytes(const char *text, size_t *bytes)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || errno)
        return false;
    unsigned shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : 0;
    if (shift)
        ++end;
    if (*end != '\0')
        return false;
    *bytes = (size_t)value << shift;
    return true;
}

int parse_sizes(char *text, size_t *sizes, int most)
{
    int count = 0;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        size_t bytes;
        if (count == most || !parse_bytes(word, &bytes) || bytes == 0 || bytes % 8 != 0 || bytes > (size_t)1 << 30)
            return 0;
        sizes[count++] = bytes;
    }
    return count;
}

const Operation *operation_named(const char *name)
{
    static Operation non_blocking[sizeof operations / sizeof operations[0]];
    for (int i = 0; i < operation_count; ++i) {
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
        if (strcmp(operations[i].waited_for.name, name) != 0)
            continue;
        non_blocking[i] = operations[i];
        non_blocking[i].name = operations[i].waited_for.name;
        memcpy(non_blocking[i].call, operations[i].waited_for.call, sizeof non_blocking[i].call);
        return &non_blocking[i];
    }
    return NULL;
}

bool on_ring(const Operation *operation)
{
    return operation->send == BOTH || operation->receive == BOTH;
}

void make_ring(Call *c)
{
    int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &c->ranks, &periodic, 0, &c->ring);
    MPI_Cart_shift(c->ring, 0, 1, &c->from[0].rank, &c->from[1].rank);
    c->from[0].block = 1; // what the one before sends to the one behind itself
    c->from[1].block = 0;
    if (c->ranks <= 2) { // both neighbors are one rank: in which order libraries differ
        int mine[2] = {0, 1}, arrived[2];
        PMPI_Neighbor_alltoall(mine, 1, MPI_INT, arrived, 1, MPI_INT, c->ring);
        c->from[0].block = arrived[0];
        c->from[1].block = arrived[1];
    }
}

static size_t buffer_bytes(int blocks, size_t size, int ranks)
{
    return blocks == NOTHING ? 0 : blocks == ONE ? size : blocks == BOTH ? 2 * size : size * (size_t)ranks;
}

size_t send_bytes(const Operation *operation, size_t size, int ranks)
{
    return buffer_bytes(operation->send, size, ranks);
}

size_t receive_bytes(const Operation *operation, size_t size, int ranks)
{
    return buffer_bytes(operation->receive, size, ranks);
}

// ---- payload -------------------------------------------------------------------------------
// Everything is checked in words of 8 bytes. What is only moved is a hash of (source, index,
// call): no two blocks are alike. What is summed is a small integer in a double: the sum is
// exact in any order.

static const uint64_t poison = 0xA5C3A5C3A5C3A5C3u;

static uint64_t hash(int source, size_t index, int number)
{
    uint64_t x = (uint64_t)index + ((uint64_t)source << 40) + ((uint64_t)number << 52) + 1;
    x *= 0x9E3779B97F4A7C15u; // splitmix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static double addend(int source, size_t index, int number)
{
    return (double)(hash(source, index, number) & 0xFFFFFF);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t input(const Operation *operation, int source, size_t index, int number)
{
    return operation->reduces ? bits_of(addend(source, index, number))
                              : hash(source, index, number);
}

static uint64_t sum(int ranks, size_t index, int number)
{
    double total = 0;
    for (int source = 0; source < ranks; ++source)
        total += addend(source, index, number);
    return bits_of(total);
}

// The word that must be at `index` of this rank's receive buffer; `block`: words of a block.
typedef uint64_t Expect(const Call *c, size_t block, size_t index, int number);

static uint64_t expect_roots(const Call *c, size_t block, size_t index, int number)
{
    (void)block;
    return hash(c->root, index, number);
}
static uint64_t expect_part_of_roots(const Call *c, size_t block, size_t index, int number)
{
    return hash(c->root, (size_t)c->rank * block + index, number);
}
static uint64_t expect_all(const Call *c, size_t block, size_t index, int number)
{
    (void)c;
    return hash((int)(index / block), index % block, number);
}
static uint64_t expect_all_at_root(const Call *c, size_t block, size_t index, int number)
{
    return c->rank == c->root ? expect_all(c, block, index, number) : poison;
}
static uint64_t expect_part_of_all(const Call *c, size_t block, size_t index, int number)
{
    return hash((int)(index / block), (size_t)c->rank * block + index % block, number);
}
static uint64_t expect_sum(const Call *c, size_t block, size_t index, int number)
{
    (void)block;
    return sum(c->ranks, index, number);
}
static uint64_t expect_sum_at_root(const Call *c, size_t block, size_t index, int number)
{
    return c->rank == c->root ? expect_sum(c, block, index, number) : poison;
}
static uint64_t expect_part_of_sum(const Call *c, size_t block, size_t index, int number)
{
    return sum(c->ranks, (size_t)c->rank * block + index, number);
}
static uint64_t expect_sum_up_to_me(const Call *c, size_t block, size_t index, int number)
{
    (void)block;
    return sum(c->rank + 1, index, number);
}
static uint64_t expect_sum_before_me(const Call *c, size_t block, size_t index, int number)
{
    (void)block;
    return sum(c->rank, index, number);
}

static uint64_t expect_neighbors(const Call *c, size_t block, size_t index, int number)
{
    return hash(c->from[index / block].rank, index % block, number);
}
static uint64_t expect_parts_of_neighbors(const Call *c, size_t block, size_t index, int number)
{
    size_t place = index / block;
    return hash(c->from[place].rank, (size_t)c->from[place].block * block + index % block, number);
}

static const struct {
    const char *name;
    Expect *expect;
} expectations[] = {
    {"bcast", expect_roots},
    {"reduce", expect_sum_at_root},
    {"allreduce", expect_sum},
    {"allgather", expect_all},
    {"allgatherv", expect_all},
    {"gather", expect_all_at_root},
    {"gatherv", expect_all_at_root},
    {"scatter", expect_part_of_roots},
    {"scatterv", expect_part_of_roots},
    {"alltoall", expect_part_of_all},
    {"alltoallv", expect_part_of_all},
    {"reduce_scatter_block", expect_part_of_sum},
    {"reduce_scatter", expect_part_of_sum},
    {"scan", expect_sum_up_to_me},
    {"exscan", expect_sum_before_me},
    {"neighbor_allgather", expect_neighbors},
    {"neighbor_alltoall", expect_parts_of_neighbors},
};

static Expect *expectation_of(const Operation *operation)
{
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; ++i)
        if (strcmp(expectations[i].name, operation->collective) == 0)
            return expectations[i].expect;
    return NULL;
}

static size_t bytes_of(const Operation *operation, const Call *c)
{
    return (size_t)c->count * (operation->reduces ? 8 : 1);
}

void prepare(const Operation *operation, const Call *c, int number)
{
    uint64_t *send = c->send, *receive = c->receive;
    size_t words = send_bytes(operation, bytes_of(operation, c), c->ranks) / 8;
    for (size_t i = 0; i < words; ++i)
        send[i] = input(operation, c->rank, i, number);
    words = receive_bytes(operation, bytes_of(operation, c), c->ranks) / 8;
    for (size_t i = 0; i < words + BENCH_GUARD / 8; ++i)
        receive[i] = poison;
    bool broadcast = operation->send == NOTHING && operation->receive == ONE;
    if (broadcast && c->rank == c->root)
        for (size_t i = 0; i < words; ++i)
            receive[i] = input(operation, c->rank, i, number);
}

long wrong_words(const Operation *operation, const Call *c, int number)
{
    const uint64_t *receive = c->receive;
    size_t size = bytes_of(operation, c), words = receive_bytes(operation, size, c->ranks) / 8;
    Expect *expect = expectation_of(operation);
    // MPI leaves rank 0's result of an exscan undefined.
    bool undefined = expect == NULL || (expect == expect_sum_before_me && c->rank == 0);
    long wrong = 0;
    for (size_t i = 0; i < words && !undefined; ++i)
        wrong += receive[i] != expect(c, size / 8, i, number);
    for (size_t i = words; i < words + BENCH_GUARD / 8; ++i)
        wrong += receive[i] != poison;
    return wrong;
}

void set_size(const Operation *operation, Call *call, size_t size)
{
    static int *counts, *displacements;
    if (!counts) {
        counts = malloc(sizeof *counts * (size_t)call->ranks);
        displacements = malloc(sizeof *displacements * (size_t)call->ranks);
    }
    call->type = operation->reduces ? MPI_DOUBLE : MPI_BYTE;
    call->count = (int)(operation->reduces ? size / sizeof(double) : size);
    for (int r = 0; r < call->ranks; ++r) {
        counts[r] = call->count;
        displacements[r] = r * call->count;
    }
    call->counts = counts;
    call->displacements = displacements;
}

void barrier_enter(const Shared *s, int number)
{
    if (!s->mapped)
        return;
    if (number % s->ranks == s->rank)
        nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    flag_set(&s->mark[s->rank], (uint64_t)number);
}

long barrier_early(const Shared *s, int number)
{
    long early = 0;
    for (int other = 0; s->mapped && other < s->ranks; ++other)
        early += flag_get(&s->mark[other]) < (uint64_t)number;
    return early;
}

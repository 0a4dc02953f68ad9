#include "operations.h"

#include <string.h>

// Each operation is called in the same words, once as PMPI_Xxx and once as MPI_Xxx.
#define BARRIER(mpi) mpi##Barrier(c->comm)
#define BCAST(mpi) mpi##Bcast(c->receive, c->count, c->type, c->root, c->comm)
#define REDUCE(mpi) \
    mpi##Reduce(c->send, c->receive, c->count, c->type, MPI_SUM, c->root, c->comm)
#define ALLREDUCE(mpi) mpi##Allreduce(c->send, c->receive, c->count, c->type, MPI_SUM, c->comm)
#define ALLGATHER(mpi) \
    mpi##Allgather(c->send, c->count, c->type, c->receive, c->count, c->type, c->comm)
#define ALLGATHERV(mpi)                                                                           \
    mpi##Allgatherv(c->send, c->count, c->type, c->receive, c->counts, c->displacements, c->type, \
                    c->comm)
#define GATHER(mpi) \
    mpi##Gather(c->send, c->count, c->type, c->receive, c->count, c->type, c->root, c->comm)
#define GATHERV(mpi)                                                                           \
    mpi##Gatherv(c->send, c->count, c->type, c->receive, c->counts, c->displacements, c->type, \
                 c->root, c->comm)
#define SCATTER(mpi) \
    mpi##Scatter(c->send, c->count, c->type, c->receive, c->count, c->type, c->root, c->comm)
#define SCATTERV(mpi)                                                                           \
    mpi##Scatterv(c->send, c->counts, c->displacements, c->type, c->receive, c->count, c->type, \
                  c->root, c->comm)
#define ALLTOALL(mpi) \
    mpi##Alltoall(c->send, c->count, c->type, c->receive, c->count, c->type, c->comm)
#define REDUCE_SCATTER_BLOCK(mpi) \
    mpi##Reduce_scatter_block(c->send, c->receive, c->count, c->type, MPI_SUM, c->comm)
#define ALLTOALLV(mpi)                                                                           \
    mpi##Alltoallv(c->send, c->counts, c->displacements, c->type, c->receive, c->counts,         \
                   c->displacements, c->type, c->comm)
#define REDUCE_SCATTER(mpi) \
    mpi##Reduce_scatter(c->send, c->receive, c->counts, c->type, MPI_SUM, c->comm)
#define SCAN(mpi) mpi##Scan(c->send, c->receive, c->count, c->type, MPI_SUM, c->comm)
#define EXSCAN(mpi) mpi##Exscan(c->send, c->receive, c->count, c->type, MPI_SUM, c->comm)

#define NEIGHBOR_ALLGATHER(mpi) \
    mpi##Neighbor_allgather(c->send, c->count, c->type, c->receive, c->count, c->type, c->ring)
#define NEIGHBOR_ALLTOALL(mpi) \
    mpi##Neighbor_alltoall(c->send, c->count, c->type, c->receive, c->count, c->type, c->ring)

#define BOTH_SIDES(name, CALL)                                  \
    static int name##_native(const Call *c) { return CALL(PMPI_); } \
    static int name##_fanlight(const Call *c) { return CALL(MPI_); }

BOTH_SIDES(barrier, BARRIER)
BOTH_SIDES(bcast, BCAST)
BOTH_SIDES(reduce, REDUCE)
BOTH_SIDES(allreduce, ALLREDUCE)
BOTH_SIDES(allgather, ALLGATHER)
BOTH_SIDES(allgatherv, ALLGATHERV)
BOTH_SIDES(gather, GATHER)
BOTH_SIDES(gatherv, GATHERV)
BOTH_SIDES(scatter, SCATTER)
BOTH_SIDES(scatterv, SCATTERV)
BOTH_SIDES(alltoall, ALLTOALL)
BOTH_SIDES(reduce_scatter_block, REDUCE_SCATTER_BLOCK)
BOTH_SIDES(alltoallv, ALLTOALLV)
BOTH_SIDES(reduce_scatter, REDUCE_SCATTER)
BOTH_SIDES(scan, SCAN)
BOTH_SIDES(exscan, EXSCAN)
BOTH_SIDES(neighbor_allgather, NEIGHBOR_ALLGATHER)
BOTH_SIDES(neighbor_alltoall, NEIGHBOR_ALLTOALL)

#define CALLS(name) #name, {name##_native, name##_fanlight}

const Operation operations[] = {
    // name, calls               by_default size   reduces rooted synchronises send receive
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

const Operation *operation_named(const char *name)
{
    for (int i = 0; i < operation_count; ++i)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
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
    if (c->ranks <= 2) { // both neighbours are one rank: in which order libraries differ
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
        if (strcmp(expectations[i].name, operation->name) == 0)
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

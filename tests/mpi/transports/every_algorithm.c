// Each operation with lengths of several classes, so that rules can give each algorithm a class of
// its own: class c has 1000 (c + 1) bytes and a little more, or 200000 + 10000 c.  Every byte of the
// results is checked, and some calls follow each other closely.  Each call has values of its own, so that what an
// earlier one left is wrong.
//
//   every_algorithm CLASSES
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, wrong, calls;
static long checks;
static MPI_Comm comm;
static int64_t *in, *out;
enum { REDUCTIONS = 7, IN_PLACE = 6 };  // the last one

// Element i that `source` gives to `target` (or to all, 0).
static int64_t value(int source, int target, int i, int call) {
    return (int64_t)source * 1000003 + target * 10007 + (int64_t)i * 31 + (int64_t)call * 1000000007;
}

static void expect(int64_t is, int64_t should, const char *operation, int count, int root, int i) {
    ++checks;
    if (is == should || wrong++ > 5) return;
    fprintf(stderr, "WRONG %s of %d elements, root %d: element %d on rank %d is %lld and not %lld\n",
            operation, count, root, i, rank, (long long)is, (long long)should);
}

static void fill(int count, int target, int call, int64_t *to) {
    for (int i = 0; i < count; ++i) to[i] = value(rank, target, i, call);
}
static void poison(int64_t *p, size_t elements) { memset(p, 0xa5, elements * sizeof *p); }

// x -> a x + b over 32-bit integers, one after the other: does not commute.
typedef struct { uint32_t a, b; } Map;
static Map map(int source, int i, int call) {
    return (Map){2u * (unsigned)source + 3u, (unsigned)i * 7u + (unsigned)source + (unsigned)call * 1000003u};
}
static Map then(Map l, Map r) { return (Map){l.a * r.a, l.b * r.a + r.b}; }
static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
    (void)type;
    Map *l = left, *r = right;
    for (int i = 0; i < *count; ++i) r[i] = then(l[i], r[i]);
}
// Element i of ranks first .. last - 1 together.
static int64_t combined(int ordered, int first, int last, int i, int call) {
    if (!ordered) {
        int64_t sum = 0;
        for (int r = first; r < last; ++r) sum += value(r, 0, i, call);
        return sum;
    }
    Map m = map(first, i, call);
    for (int r = first + 1; r < last; ++r) m = then(m, map(r, i, call));
    int64_t bits;
    memcpy(&bits, &m, sizeof bits);
    return bits;
}

static void test_reductions(int count, int root, MPI_Datatype pair, MPI_Op op) {
    static const char *const names[] = {"reduce", "allreduce", "scan", "exscan", "reduce_scatter_block", "reduce_scatter",
                                        "allreduce in place"};
    for (int ordered = 0; ordered < 2; ++ordered) {
        const MPI_Datatype type = ordered ? pair : MPI_INT64_T;
        const MPI_Op operator = ordered ? op : MPI_SUM;
        const int block = count / size, call = calls;
        int64_t *from[REDUCTIONS], *to[REDUCTIONS];
        for (int k = 0; k < REDUCTIONS; ++k, ++calls) {
            from[k] = in + k * count, to[k] = k == IN_PLACE ? from[k] : out + k * count;
            for (int i = 0; i < count; ++i) from[k][i] = combined(ordered, rank, rank + 1, i, calls);
        }
        // Rank 1 has nothing, rank 0 what it lacks; or the last one has all.
        int *blocks = malloc(sizeof(int) * (size_t)size), first = 0;
        for (int r = 0; r < size; ++r) {
            if (count % 2) blocks[r] = r == size - 1 ? size * block : 0;
            else blocks[r] = r == 0 ? 2 * block : r == 1 ? 0 : block;
            if (r < rank) first += blocks[r];
        }
        poison(out, (REDUCTIONS - 1) * (size_t)count);
        MPI_Reduce(from[0], to[0], count, type, operator, root, comm);
        MPI_Allreduce(from[1], to[1], count, type, operator, comm);
        MPI_Scan(from[2], to[2], count, type, operator, comm);
        MPI_Exscan(from[3], to[3], count, type, operator, comm);
        MPI_Reduce_scatter_block(from[4], to[4], block, type, operator, comm);
        MPI_Reduce_scatter(from[5], to[5], blocks, type, operator, comm);
        MPI_Allreduce(MPI_IN_PLACE, to[IN_PLACE], count, type, operator, comm);
        for (int k = 0; k < REDUCTIONS; ++k) {
            const int results = k == 4 ? block : k == 5 ? blocks[rank] : (k == 0 && rank != root) || (k == 3 && rank == 0) ? 0 : count;
            const int last = k == 2 ? rank + 1 : k == 3 ? rank : size, offset = k == 4 ? rank * block : k == 5 ? first : 0;
            for (int i = 0; i < results; ++i)
                expect(to[k][i], combined(ordered, 0, last, offset + i, call + k), names[k], count, root, i);
        }
        free(blocks);
    }
}

static void test_movement(int count, int root) {
    for (int k = 0; k < 3; ++k, ++calls) {  // the root runs ahead
        poison(out, (size_t)count);
        if (rank == root) fill(count, 0, calls, out);
        MPI_Bcast(out, count, MPI_INT64_T, root, comm);
        for (int i = 0; i < count; ++i) expect(out[i], value(root, 0, i, calls), "bcast", count, root, i);
    }

    const size_t all = (size_t)count * (size_t)size;
    fill(count, 0, calls, in), fill(count, 0, calls + 1, in + count);
    poison(out, 2 * all);
    MPI_Allgather(in, count, MPI_INT64_T, out, count, MPI_INT64_T, comm);
    MPI_Gather(in + count, count, MPI_INT64_T, out + all, count, MPI_INT64_T, root, comm);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < count; ++i) {
            expect(out[r * count + i], value(r, 0, i, calls), "allgather", count, 0, i);
            if (rank == root) expect(out[all + (size_t)(r * count + i)], value(r, 0, i, calls + 1), "gather", count, root, i);
        }
    calls += 2;

    for (int r = 0; r < size; ++r) fill(count, r, calls, in + r * count), fill(count, r, calls + 1, in + all + r * count);
    poison(out, 2 * all);
    MPI_Scatter(in, count, MPI_INT64_T, out + all, count, MPI_INT64_T, root, comm);
    MPI_Alltoall(in + all, count, MPI_INT64_T, out, count, MPI_INT64_T, comm);
    for (int i = 0; i < count; ++i) expect(out[all + (size_t)i], value(root, rank, i, calls), "scatter", count, root, i);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < count; ++i)
            expect(out[r * count + i], value(r, rank, i, calls + 1), "alltoall", count, 0, i);
    calls += 2;
}

// Rank 1 has nothing, rank 0 what it lacks: the mean stays in the class.
static int block_of(int r, int count) { return r == 0 ? 2 * count : r == 1 ? 0 : count + r; }
static void test_uneven_blocks(int count, int root) {
    int *counts = malloc(sizeof(int) * (size_t)size), *places = malloc(sizeof(int) * (size_t)size), total = 0;
    for (int r = 0; r < size; total += counts[r++]) counts[r] = block_of(r, count), places[r] = total;
    fill(counts[rank], 0, calls, in), fill(counts[rank], 0, calls + 1, in + counts[rank]);
    poison(out, 2 * (size_t)total);
    MPI_Allgatherv(in, counts[rank], MPI_INT64_T, out, counts, places, MPI_INT64_T, comm);
    MPI_Gatherv(in + counts[rank], counts[rank], MPI_INT64_T, out + total, counts, places, MPI_INT64_T, root, comm);
    for (int r = 0; r < size; ++r)
        for (int i = 0; i < counts[r]; ++i) {
            expect(out[places[r] + i], value(r, 0, i, calls), "allgatherv", count, 0, i);
            if (rank == root) expect(out[total + places[r] + i], value(r, 0, i, calls + 1), "gatherv", count, root, i);
        }
    calls += 2;
    for (int r = 0; r < size; ++r) fill(counts[r], r, calls, in + places[r]);
    poison(out, (size_t)counts[rank] + 1);
    const int64_t behind = out[counts[rank]];
    MPI_Scatterv(in, counts, places, MPI_INT64_T, out, counts[rank], MPI_INT64_T, root, comm);
    for (int i = 0; i < counts[rank]; ++i) expect(out[i], value(root, rank, i, calls), "scatterv", count, root, i);
    expect(out[counts[rank]], behind, "scatterv's guard", count, root, counts[rank]);
    ++calls;
    free(counts), free(places);
}

// Nobody leaves a barrier before the last one has entered: it has told everybody before, in their
// windows, since they may be on other nodes.
static void test_barrier(void) {
    int64_t *entered;
    MPI_Win window;
    MPI_Win_allocate(sizeof *entered, sizeof *entered, MPI_INFO_NULL, comm, &entered, &window);
    *entered = 0;
    MPI_Win_fence(0, window);
    for (int64_t number = 1; number <= 10; ++number) {
        if (rank == number % size)
            for (int r = 0; r < size; ++r) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, window);
                MPI_Put(&number, 1, MPI_INT64_T, r, 0, 1, MPI_INT64_T, window);
                MPI_Win_unlock(r, window);
            }
        MPI_Barrier(comm);
        int64_t seen;
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
        MPI_Get(&seen, 1, MPI_INT64_T, rank, 0, 1, MPI_INT64_T, window);
        MPI_Win_unlock(rank, window);
        expect(seen >= number, 1, "barrier", (int)number, 0, (int)seen);
        MPI_Barrier(comm);
    }
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int classes = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const size_t most = (size_t)(200000 + 10000 * classes) / 8 + 100;
    in = malloc(sizeof *in * most * (size_t)(2 * size + REDUCTIONS));
    out = malloc(sizeof *out * most * (size_t)(2 * size + 6));
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_UINT32_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    test_barrier();
    for (int c = 0; c < classes; ++c) {
        for (int turn = 0; turn < 2; ++turn) {
            const int root = (c + turn * (size / 2 + 1)) % size;
            const int count = 125 * (c + 1) + turn;  // elements of 8 bytes
            test_movement(count, root);
            test_uneven_blocks(count, root);
            test_reductions(count, root, pair, op);
        }
        // The bytes of reduce_scatter_block are those of a block: once more with those of a class.
        test_reductions(125 * (c + 1) * size, 0, pair, op);
        test_movement(25000 + 1250 * c, c % size);
        test_uneven_blocks(25000 + 1250 * c, c % size);
        test_reductions(25000 + 1250 * c, c % size, pair, op);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Comm_free(&comm);
    free(in), free(out);
    long all[2], own[2] = {wrong, checks};
    MPI_Allreduce(own, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    int first;
    MPI_Comm_rank(MPI_COMM_WORLD, &first);
    if (first == 0 && all[0] == 0) printf("ok %ld\n", all[1]);
    MPI_Finalize();
    return all[0] != 0;
}

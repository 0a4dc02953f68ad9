// bcast, gather(v), scatter(v), allgather(v), alltoall(v, w): data that only moves.
//
// Each case is a job: buffers with what they hold before and must hold after the call.  Jobs
// are made three at a time, run back to back, and then checked.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

// Families of datatypes with one signature; the ranks of one call use different ones.
enum { INT, CHAR, SHORT, DOUBLE, MIXED_INTS, MIXED_STRUCTS, FAMILIES };
static struct family {
    const char *name;
    int layouts;
    struct layout layout[6];
    const MPI_Count *elements;  // per block or vector, ended by -1; each layout's parts divide it
} families[FAMILIES];

static struct layout basic(const char *name, MPI_Datatype type, int bytes) {
    return (struct layout){name, type, 1, {{0, bytes}}, bytes};
}

void make_layouts(void) {
    static const MPI_Count
        ints[] = {0, 1, 2, 12, 13, 25, 50, 1024, 2051, 16384, 262144, -1},
        quick_ints[] = {0, 1, 13, 1025, 40001, -1}, huge_ints[] = {1048577, -1},
        chars[] = {1, 7, 47, 48, 49, 64, 129, 200, 4095, 65535, 65536, 65537, 307201, -1},
        quick_chars[] = {47, 49, 65537, -1}, shorts[] = {1, 3, 33, 100, -1},
        doubles[] = {1, 6, 7, 25, 512, 8193, 38401, -1}, quick_doubles[] = {7, -1},
        mixed[] = {12, 24, 48, 240, 4800, 30000, -1}, quick_mixed[] = {12, 4800, -1},
        structs[] = {3, 6, 9, 300, 9000, -1}, none[] = {-1};

    families[INT] = (struct family){"int", 1, {basic("int", MPI_INT, 4)},
                                    huge ? huge_ints : quick ? quick_ints : ints};
    families[CHAR] = (struct family){"char", 1, {basic("char", MPI_CHAR, 1)},
                                     huge ? none : quick ? quick_chars : chars};
    families[SHORT] = (struct family){"short", 1, {basic("short", MPI_SHORT, 2)},
                                      huge || quick ? none : shorts};
    families[DOUBLE] = (struct family){"double", 1, {basic("double", MPI_DOUBLE, 8)},
                                       huge ? none : quick ? quick_doubles : doubles};

    // ints one by one, in a vector, in descending order, far apart, from a negative address on
    struct family *f = &families[MIXED_INTS];
    *f = (struct family){"mixed ints", 5, {basic("int", MPI_INT, 4)},
                         huge ? none : quick ? quick_mixed : mixed};
    f->layout[1] = (struct layout){"vector", 0, 3, {{0, 4}, {8, 4}, {16, 4}}, 0};
    MPI_Type_vector(3, 1, 2, MPI_INT, &f->layout[1].type);
    f->layout[2] = (struct layout){"descending", 0, 4, {{20, 4}, {8, 4}, {4, 4}, {0, 4}}, 0};
    MPI_Type_indexed(4, (int[]){1, 1, 1, 1}, (int[]){5, 2, 1, 0}, MPI_INT, &f->layout[2].type);
    f->layout[3] = (struct layout){"resized", 0, 1, {{0, 4}}, 0};
    MPI_Type_create_resized(MPI_INT, 0, 12, &f->layout[3].type);
    f->layout[4] = (struct layout){"negative", 0, 2, {{-8, 4}, {4, 4}}, 0};
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){-8, 4}, MPI_INT, &f->layout[4].type);
    for (int i = 1; i < f->layouts; ++i) complete_layout(&f->layout[i]);

    // a char, a double and an int in three arrangements
    f = &families[MIXED_STRUCTS];
    *f = (struct family){"structs", 3, {{0}}, huge || quick ? none : structs};
    static const MPI_Aint at[3][3] = {{0, 8, 16}, {20, 8, 0}, {0, 1, 9}};
    static const char *names[] = {"struct", "struct backwards", "packed struct"};
    for (int i = 0; i < 3; ++i) {
        MPI_Datatype plain, types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
        f->layout[i] = (struct layout){names[i], 0, 3,
            {{(int)at[i][0], 1}, {(int)at[i][1], 8}, {(int)at[i][2], 4}}, 0};
        MPI_Type_create_struct(3, (int[]){1, 1, 1}, at[i], types, &plain);
        MPI_Type_create_resized(plain, 0, i == 2 ? 13 : 24, &f->layout[i].type);
        MPI_Type_free(&plain);
        complete_layout(&f->layout[i]);
    }
}

void free_layouts(void) {
    for (int i = 1; i < families[MIXED_INTS].layouts; ++i)
        MPI_Type_free(&families[MIXED_INTS].layout[i].type);
    for (int i = 0; i < 3; ++i) MPI_Type_free(&families[MIXED_STRUCTS].layout[i].type);
}

// The blocks of a v form: lengths that differ, some empty, in an order of their own, with gaps.
struct blocks {
    MPI_Count parts[MAX_RANKS], items;  // items: the whole buffer's
    int counts[MAX_RANKS], at[MAX_RANKS];
#if HAVE_LARGE_COUNTS
    MPI_Count counts_c[MAX_RANKS];
    MPI_Aint at_c[MAX_RANKS];
#endif
};

// The same of alltoallv and alltoallw, where each rank's block may have a layout of its own.
struct side {
    struct blocks blocks;
    const struct layout *layout[MAX_RANKS];
    MPI_Datatype types[MAX_RANKS];
    MPI_Aint byte[MAX_RANKS], bytes;  // where a block begins; the whole buffer's
};

struct operation;
struct job {
    const struct scope *scope;
    const struct operation *operation;
    const struct family *family;
    const struct layout *send, *receive;
    MPI_Count elements;
    int root;
    bool in_place, large;
    unsigned call;
    struct blocks blocks;  // v forms: in items of the layout of the buffer of all blocks
    struct side from, to;  // alltoallv, alltoallw
    struct area input, output, input_after, output_after;
};

static MPI_Count send_items(const struct job *j) { return j->elements / j->send->parts; }
static MPI_Count receive_items(const struct job *j) { return j->elements / j->receive->parts; }

static void make_blocks(struct job *j, const struct layout *layout) {
    MPI_Count item = 1;
    for (int i = j->scope->size; i-- > 0;) {  // the last rank's block first
        j->blocks.parts[i] = j->elements * ((i + (int)(j->call % 3)) % 3);
        j->blocks.counts[i] = (int)(j->blocks.parts[i] / layout->parts);
        j->blocks.at[i] = (int)item;
#if HAVE_LARGE_COUNTS
        j->blocks.counts_c[i] = j->blocks.counts[i];
        j->blocks.at_c[i] = (MPI_Aint)item;
#endif
        item += j->blocks.counts[i] + 1;
    }
    j->blocks.items = item;
}

#if HAVE_LARGE_COUNTS
#define EITHER(j, name, ...) ((j)->large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#define COUNTS(j, name, before, after)                                                         \
    ((j)->large ? MPI_##name##_c(UNPACK before, (j)->blocks.counts_c, (j)->blocks.at_c, UNPACK after) \
                : MPI_##name(UNPACK before, (j)->blocks.counts, (j)->blocks.at, UNPACK after))
#else
#define EITHER(j, name, ...) MPI_##name(__VA_ARGS__)
#define COUNTS(j, name, before, after) \
    MPI_##name(UNPACK before, (j)->blocks.counts, (j)->blocks.at, UNPACK after)
#endif
#define UNPACK(...) __VA_ARGS__

// bcast: one buffer, in the place of `output`.
static void fill_bcast(struct job *j) {
    j->output = new_area(j->receive, receive_items(j));
    if (j->scope->rank == j->root)
        write_payload(&j->output, j->receive, 0, j->elements, j->root, 0, j->call);
    j->output_after = copy_area(&j->output);
    write_payload(&j->output_after, j->receive, 0, j->elements, j->root, 0, j->call);
}
static int run_bcast(struct job *j) {
    return EITHER(j, Bcast, j->output.at, receive_items(j), j->receive->type, j->root,
                  j->scope->comm);
}

// gather and allgather: `all` says whether this rank receives.
static void fill_collecting(struct job *j, bool receives) {
    const int rank = j->scope->rank;
    j->input = new_area(j->send, send_items(j));
    write_payload(&j->input, j->send, 0, j->elements, rank, 0, j->call);
    if (!receives) return;
    const MPI_Count items = receive_items(j);
    j->output = new_area(j->receive, items * j->scope->size);
    if (j->in_place)
        write_payload(&j->output, j->receive, rank * items, j->elements, rank, 0, j->call);
    j->output_after = copy_area(&j->output);
    for (int i = 0; i < j->scope->size; ++i)
        write_payload(&j->output_after, j->receive, i * items, j->elements, i, 0, j->call);
}
static void fill_allgather(struct job *j) { fill_collecting(j, true); }
static void fill_gather(struct job *j) { fill_collecting(j, j->scope->rank == j->root); }

// What is not significant at a rank is passed as nonsense.
static const void *input_of(const struct job *j, bool in_place) {
    return in_place ? MPI_IN_PLACE : j->input.at;
}
static int run_allgather(struct job *j) {
    return EITHER(j, Allgather, input_of(j, j->in_place), j->in_place ? 0 : send_items(j),
                  j->in_place ? MPI_DATATYPE_NULL : j->send->type, j->output.at, receive_items(j),
                  j->receive->type, j->scope->comm);
}
static int run_gather(struct job *j) {
    const bool root = j->scope->rank == j->root, in_place = j->in_place && root;
    return EITHER(j, Gather, input_of(j, in_place), in_place ? 0 : send_items(j),
                  in_place ? MPI_DATATYPE_NULL : j->send->type, root ? j->output.at : NULL,
                  root ? receive_items(j) : -7, root ? j->receive->type : MPI_DATATYPE_NULL,
                  j->root, j->scope->comm);
}

static void fill_collecting_v(struct job *j, bool receives) {
    const int rank = j->scope->rank;
    make_blocks(j, j->receive);
    const MPI_Count parts = j->blocks.parts[rank];
    j->input = new_area(j->send, parts / j->send->parts);
    write_payload(&j->input, j->send, 0, parts, rank, 0, j->call);
    if (!receives) return;
    j->output = new_area(j->receive, j->blocks.items);
    if (j->in_place)
        write_payload(&j->output, j->receive, j->blocks.at[rank], parts, rank, 0, j->call);
    j->output_after = copy_area(&j->output);
    for (int i = 0; i < j->scope->size; ++i)
        write_payload(&j->output_after, j->receive, j->blocks.at[i], j->blocks.parts[i], i, 0,
                      j->call);
}
static void fill_allgatherv(struct job *j) { fill_collecting_v(j, true); }
static void fill_gatherv(struct job *j) { fill_collecting_v(j, j->scope->rank == j->root); }

static int run_allgatherv(struct job *j) {
    const MPI_Count items = j->blocks.parts[j->scope->rank] / j->send->parts;
    return COUNTS(j, Allgatherv,
                  (input_of(j, j->in_place), j->in_place ? 0 : items,
                   j->in_place ? MPI_DATATYPE_NULL : j->send->type, j->output.at),
                  (j->receive->type, j->scope->comm));
}
static int run_gatherv(struct job *j) {
    const bool root = j->scope->rank == j->root, in_place = j->in_place && root;
    const MPI_Count items = j->blocks.parts[j->scope->rank] / j->send->parts;
    if (!root)
        return EITHER(j, Gatherv, j->input.at, items, j->send->type, NULL, NULL, NULL,
                      MPI_DATATYPE_NULL, j->root, j->scope->comm);
    return COUNTS(j, Gatherv,
                  (input_of(j, in_place), in_place ? 0 : items,
                   in_place ? MPI_DATATYPE_NULL : j->send->type, j->output.at),
                  (j->receive->type, j->root, j->scope->comm));
}

// scatter: the root's element numbers run on from block to block.
static void fill_scatter(struct job *j) {
    const bool root = j->scope->rank == j->root;
    if (root) {
        j->input = new_area(j->send, send_items(j) * j->scope->size);
        write_payload(&j->input, j->send, 0, j->elements * j->scope->size, j->root, 0, j->call);
        if (j->in_place) return;
    }
    j->output = new_area(j->receive, receive_items(j));
    j->output_after = copy_area(&j->output);
    write_payload(&j->output_after, j->receive, 0, j->elements, j->root,
                  (uint64_t)(j->elements * j->scope->rank), j->call);
}
static int run_scatter(struct job *j) {
    const bool root = j->scope->rank == j->root, in_place = j->in_place && root;
    return EITHER(j, Scatter, root ? j->input.at : NULL, root ? send_items(j) : -7,
                  root ? j->send->type : MPI_DATATYPE_NULL, in_place ? MPI_IN_PLACE : j->output.at,
                  in_place ? 0 : receive_items(j), in_place ? MPI_DATATYPE_NULL : j->receive->type,
                  j->root, j->scope->comm);
}

static void fill_scatterv(struct job *j) {
    const bool root = j->scope->rank == j->root;
    make_blocks(j, j->send);
    if (root) {
        j->input = new_area(j->send, j->blocks.items);
        for (int i = 0; i < j->scope->size; ++i)
            write_payload(&j->input, j->send, j->blocks.at[i], j->blocks.parts[i], i, 5, j->call);
        if (j->in_place) return;
    }
    const MPI_Count parts = j->blocks.parts[j->scope->rank];
    j->output = new_area(j->receive, parts / j->receive->parts);
    j->output_after = copy_area(&j->output);
    write_payload(&j->output_after, j->receive, 0, parts, j->scope->rank, 5, j->call);
}
static int run_scatterv(struct job *j) {
    const bool root = j->scope->rank == j->root, in_place = j->in_place && root;
    const MPI_Count items = j->blocks.parts[j->scope->rank] / j->receive->parts;
    void *to = in_place ? MPI_IN_PLACE : j->output.at;
    const MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : j->receive->type;
    if (!root)
        return EITHER(j, Scatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, to, items, type, j->root,
                      j->scope->comm);
    return COUNTS(j, Scatterv, (j->input.at),
                  (j->send->type, to, in_place ? 0 : items, type, j->root, j->scope->comm));
}

// alltoall: block s of rank r begins with element s * elements of rank r.
static void fill_alltoall(struct job *j) {
    const int rank = j->scope->rank, size = j->scope->size;
    const MPI_Count items = receive_items(j);
    j->output = new_area(j->receive, items * size);
    if (j->in_place) {
        write_payload(&j->output, j->receive, 0, j->elements * size, rank, 0, j->call);
    } else {
        j->input = new_area(j->send, send_items(j) * size);
        write_payload(&j->input, j->send, 0, j->elements * size, rank, 0, j->call);
    }
    j->output_after = copy_area(&j->output);
    for (int i = 0; i < size; ++i)
        write_payload(&j->output_after, j->receive, i * items, j->elements, i,
                      (uint64_t)(j->elements * rank), j->call);
}
static int run_alltoall(struct job *j) {
    return EITHER(j, Alltoall, input_of(j, j->in_place), j->in_place ? 0 : send_items(j),
                  j->in_place ? MPI_DATATYPE_NULL : j->send->type, j->output.at, receive_items(j),
                  j->receive->type, j->scope->comm);
}

#ifdef OPEN_MPI
static const bool openmpi = true;
#else
static const bool openmpi = false;
#endif

// alltoallv and alltoallw: lengths that differ by both ranks; in place only by their sum.
static MPI_Count parts_between(const struct job *j, int source, int target) {
    return j->elements * ((source + (j->in_place ? 1 : 2) * target + (int)(j->call % 3)) % 3);
}
static void make_side(const struct job *j, struct side *s, const struct layout *first, bool sends, bool each) {
    const int rank = j->scope->rank, turn = (int)(first - j->family->layout);
    const MPI_Aint gap = 40;  // more than any layout has before its first byte or behind its extent
    MPI_Aint at = each ? gap : first->extent * (1 + gap / first->extent);
    // Open MPI 5.0.11 on a communicator of one rank takes alltoallw's displacements for numbers of
    // elements (coll_self_alltoallw.c).
    if (openmpi && each && j->scope->size == 1) at = 0;
    for (int i = j->scope->size; i-- > 0;) {  // the last rank's block first
        const struct layout *l = each ? &j->family->layout[(turn + i) % j->family->layouts] : first;
        const MPI_Aint unit = each ? 1 : l->extent;
        s->layout[i] = l;
        s->types[i] = l->type;
        s->byte[i] = at;
        s->blocks.parts[i] = sends ? parts_between(j, rank, i) : parts_between(j, i, rank);
        s->blocks.counts[i] = (int)(s->blocks.parts[i] / l->parts);
        s->blocks.at[i] = (int)(at / unit);
#if HAVE_LARGE_COUNTS
        s->blocks.counts_c[i] = s->blocks.counts[i];
        s->blocks.at_c[i] = s->blocks.at[i];
#endif
        at += s->blocks.counts[i] * l->extent;
        at += each ? gap + -at % 8 : l->extent * (1 + gap / l->extent);
    }
    s->bytes = at;
}
static void write_block(const struct area *area, const struct side *s, int block, int source, int target, unsigned call) {
    struct area from_there = *area;
    from_there.at += s->byte[block];
    write_payload(&from_there, s->layout[block], 0, s->blocks.parts[block], source, (uint64_t)target << 32, call);
}
static void fill_exchange(struct job *j, bool each) {
    const int rank = j->scope->rank, size = j->scope->size;
    const struct layout bytes = basic("byte", MPI_BYTE, 1);
    make_side(j, &j->to, j->receive, false, each);
    j->output = new_area(&bytes, j->to.bytes);
    if (!j->in_place) {
        make_side(j, &j->from, j->send, true, each);
        j->input = new_area(&bytes, j->from.bytes);
    }
    for (int i = 0; i < size; ++i)
        write_block(j->in_place ? &j->output : &j->input, j->in_place ? &j->to : &j->from, i, rank, i, j->call);
    j->output_after = copy_area(&j->output);
    for (int i = 0; i < size; ++i) write_block(&j->output_after, &j->to, i, i, rank, j->call);
}
static void fill_alltoallv(struct job *j) { fill_exchange(j, false); }
static void fill_alltoallw(struct job *j) { fill_exchange(j, true); }

#define EXCHANGE(name, suffix, send_type, receive_type)                                           \
    MPI_##name(input_of(j, j->in_place), j->in_place ? NULL : j->from.blocks.counts##suffix,      \
               j->in_place ? NULL : j->from.blocks.at##suffix, send_type, j->output.at,           \
               j->to.blocks.counts##suffix, j->to.blocks.at##suffix, receive_type, j->scope->comm)
static int run_alltoallv(struct job *j) {
    const MPI_Datatype sent = j->in_place ? MPI_DATATYPE_NULL : j->send->type;
#if HAVE_LARGE_COUNTS
    if (j->large) return EXCHANGE(Alltoallv_c, _c, sent, j->receive->type);
#endif
    return EXCHANGE(Alltoallv, , sent, j->receive->type);
}
static int run_alltoallw(struct job *j) {
    const MPI_Datatype *sent = j->in_place ? NULL : j->from.types;
#if HAVE_LARGE_COUNTS
    if (j->large) return EXCHANGE(Alltoallw_c, _c, sent, j->to.types);
#endif
    return EXCHANGE(Alltoallw, , sent, j->to.types);
}

static const struct operation {
    const char *name;
    void (*fill)(struct job *);
    int (*run)(struct job *);
    bool rooted, in_place, blocks;
} operations[] = {
    {"bcast", fill_bcast, run_bcast, true, false, false},
    {"gather", fill_gather, run_gather, true, true, true},
    {"scatter", fill_scatter, run_scatter, true, true, true},
    {"allgather", fill_allgather, run_allgather, false, true, true},
    {"alltoall", fill_alltoall, run_alltoall, false, true, true},
    {"gatherv", fill_gatherv, run_gatherv, true, true, true},
    {"scatterv", fill_scatterv, run_scatterv, true, true, true},
    {"allgatherv", fill_allgatherv, run_allgatherv, false, true, true},
    {"alltoallv", fill_alltoallv, run_alltoallv, false, true, true},
    {"alltoallw", fill_alltoallw, run_alltoallw, false, true, true},
};
// Open MPI 5.0.11 chooses the algorithm of allgatherv by the receive counts times the size of
// the *send* type (coll_tuned_decision_fixed.c): ranks with different types of one signature
// choose different algorithms, and hang.
static bool defective(const struct operation *operation, const struct family *family) {
    return wrong_in_mpi(openmpi && operation->run == run_allgatherv && family->layouts > 1);
}

enum { OPERATIONS = sizeof operations / sizeof *operations };

// Halves of different sizes have made different numbers of calls.
static unsigned calls;
static void count_anew(void) {
    static unsigned times;
    calls = ++times * 100000;
}

static struct job new_job(const struct operation *operation, const struct scope *scope,
                          const struct family *family, MPI_Count elements, int root,
                          bool in_place) {
    struct job j = {.scope = scope, .operation = operation, .family = family, .elements = elements,
                    .root = root, .in_place = in_place, .call = calls++};
    const int turn = scope->rank + (int)j.call;
    j.send = &family->layout[turn % family->layouts];
    j.receive = &family->layout[(turn + 1) % family->layouts];
    j.large = HAVE_LARGE_COUNTS && j.call % 2;
    operation->fill(&j);
    if (j.input.base) j.input_after = copy_area(&j.input);
    return j;
}

static void check_job(struct job *j, int code) {
    char kind[96], what[256];
    snprintf(kind, sizeof kind, "%s%s%s", j->operation->name, j->large ? "_c" : "",
             j->in_place ? " in place" : "");
    snprintf(what, sizeof what,
             "%s, rank %d of %d, root %d, call %u, %lld elements, sent as %s, received as %s",
             j->scope->name, j->scope->rank, j->scope->size, j->root, j->call,
             (long long)j->elements, j->send->name, j->receive->name);
    check(code == MPI_SUCCESS, kind, "%s: returned %d", what, code);
    if (j->input.base) {
        char input[300];
        snprintf(input, sizeof input, "the input, %s", what);
        check_area(&j->input, &j->input_after, kind, input);
    }
    if (j->output.base) check_area(&j->output, &j->output_after, kind, what);
    free_area(&j->input);
    free_area(&j->input_after);
    free_area(&j->output);
    free_area(&j->output_after);
}

static void run_jobs(struct job *jobs, int count) {
    int code[MAX_RANKS];
    for (int k = 0; k < count; ++k) code[k] = jobs[k].operation->run(&jobs[k]);
    for (int k = 0; k < count; ++k) check_job(&jobs[k], code[k]);
}

// Three calls back to back: by turns of the roots where there are roots.
static void run_case(const struct operation *operation, const struct scope *scope,
                     const struct family *family, MPI_Count elements, bool in_place) {
    const int size = scope->size, all = operation->rooted && size > BACK_TO_BACK ? size
                                                                                 : BACK_TO_BACK;
    for (int k = 0; k < all; k += BACK_TO_BACK) {
        struct job jobs[BACK_TO_BACK];
        for (int b = 0; b < BACK_TO_BACK; ++b)
            jobs[b] = new_job(operation, scope, family, elements, (k + b) % size, in_place);
        run_jobs(jobs, BACK_TO_BACK);
    }
}

// Not all bytes of a long double are data, and MPICH packs no others.
static void test_long_doubles(const struct scope *scope) {
    struct element {
        long double value, gap;
    } all[MAX_RANKS];
    MPI_Datatype type;
    must(MPI_Type_create_resized(MPI_LONG_DOUBLE, 0, sizeof all[0], &type), "MPI_Type_create_resized");
    must(MPI_Type_commit(&type), "MPI_Type_commit");
    for (int call = 0; call < 4; ++call) {
        long double own;
        memset(&own, 0xa5, sizeof own);
        memset(all, 0xa5, sizeof all);
        own = 1.0L / (3 + call + scope->rank);
        must(MPI_Allgather(&own, 1, MPI_LONG_DOUBLE, all, 1, type, scope->comm), "MPI_Allgather");
        for (int r = 0; r < scope->size; ++r)
            check(all[r].value == 1.0L / (3 + call + r), "allgather", "of a long double from rank %d: %.20Lg", r, all[r].value);
    }
    MPI_Type_free(&type);
}

void test_movement(const struct scope *scope, bool all) {
    count_anew();
    if (wanted("allgather")) test_long_doubles(scope);
    for (int o = 0; o < OPERATIONS; ++o) {
        if (!wanted(operations[o].name)) continue;
        for (int f = 0; f < FAMILIES; ++f) {
            if (defective(&operations[o], &families[f])) continue;
            int n = 0;
            for (const MPI_Count *e = families[f].elements; *e >= 0; ++e, ++n) {
                if (!all && (n % 4 != f % 4 || *e > 20000)) continue;
                // All blocks together: no more than a few MiB on each rank.
                if (operations[o].blocks && !huge && *e * scope->size > 1200000) continue;
                run_case(&operations[o], scope, &families[f], *e, false);
                if (operations[o].in_place)
                    run_case(&operations[o], scope, &families[f], *e, true);
            }
        }
    }
}

// One call on each communicator in turn; the operations go round as well.
void test_in_turn(const struct scope *scopes, int count) {
    count_anew();
    for (int turn = 0; turn < 60; ++turn) {
        const struct operation *operation = &operations[turn % OPERATIONS];
        if (!wanted(operation->name)) continue;
        struct job jobs[MAX_PARTS];
        for (int s = 0; s < count; ++s)
            jobs[s] = new_job(operation, &scopes[s], &families[turn % 2 ? INT : CHAR],
                              turn % 5 == 4 ? 9000 : 5 + turn, turn % scopes[s].size, false);
        run_jobs(jobs, count);
    }
}

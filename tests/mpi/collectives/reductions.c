// reduce, allreduce, reduce_scatter, reduce_scatter_block, scan and exscan: built-in operators on the basic
// datatypes, user operators (commuting or not, on datatypes with and without gaps), compared
// with the combination of all ranks' values from left to right.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ELEMENT = 16 };  // bytes of the largest element
enum { STRICT = 0, TRUTH = 1, PADDED = 2, LONG = 4 };

typedef void Value(void *element, uint64_t random);
typedef void Combine(const void *left, void *right);  // right = left (+) right

// STRICT: to the last byte; TRUTH: any value but 0 is true; PADDED: the gap inside a pair is
// nobody's; LONG: also with long vectors.
static struct reduction {
    const char *name;
    MPI_Op op;
    Value *value;
    Combine *combine;
    int flags;
    struct layout layout;
} reductions[64];
static int count;

#define ARITHMETIC(name, type, value, result)                                         \
    static void name##_value(void *element, uint64_t h) {                   \
        *(type *)element = (type)(value);                                             \
    }                                                                                 \
    static void name##_combine(const void *left, void *right) {                       \
        const type a = *(const type *)left, b = *(type *)right;                       \
        *(type *)right = (type)(result);                                              \
    }
ARITHMETIC(int_sum, int, (int)(h % 20001) - 10000, a + b)
ARITHMETIC(int_product, int, 1 + (int)(h % 3), a * b)
ARITHMETIC(int_max, int, h, a > b ? a : b)
ARITHMETIC(int_min, int, h, a < b ? a : b)
ARITHMETIC(int_land, int, h % 8 ? 1 << (h % 5) : 0, a && b)
ARITHMETIC(int_lor, int, h % 3 ? 0 : 1 << (h % 5), a || b)
ARITHMETIC(int_lxor, int, h % 2 ? 1 << (h % 5) : 0, !a != !b)
ARITHMETIC(int_band, uint32_t, h | h >> 11, a & b)
ARITHMETIC(int_bor, uint32_t, h & h >> 11, a | b)
ARITHMETIC(int_bxor, uint32_t, h, a ^ b)
ARITHMETIC(double_sum, double, (double)(h % 100000) - 50000.0, a + b)  // exact
ARITHMETIC(double_product, double, h % 2 ? 0.5 : -2.0, a * b)
ARITHMETIC(double_max, double, (double)(h >> 20), a > b ? a : b)
ARITHMETIC(float_sum, float, (float)(h % 1000), a + b)
ARITHMETIC(float_min, float, (float)(h % 100000), a < b ? a : b)
ARITHMETIC(short_sum, short, h % 200, a + b)
ARITHMETIC(short_max, short, h, a > b ? a : b)
ARITHMETIC(schar_sum, signed char, h % 10, a + b)
ARITHMETIC(schar_min, signed char, h, a < b ? a : b)
ARITHMETIC(uchar_bxor, unsigned char, h, a ^ b)
ARITHMETIC(long_sum, int64_t, h >> 8, a + b)
ARITHMETIC(unsigned_max, uint64_t, h, a > b ? a : b)
ARITHMETIC(ushort_bor, uint16_t, h & h >> 7, a | b)
ARITHMETIC(bool_land, bool, h % 8 != 0, a && b)

struct double_int { double value; int at; };
struct two_ints { int value, at; };
struct complex_number { double re, im; };
struct affine { uint32_t a, b; };  // x -> a x + b
enum { PRIME = 65521 };

#define PAIR(name, type, field, better)                                                \
    static void name##_value(void *element, uint64_t h) {                    \
        ((type *)element)->value = (field)(h % 7);                                     \
        ((type *)element)->at = (int)(h >> 40 & 0xffff);                               \
    }                                                                                  \
    static void name##_combine(const void *left, void *right) {                        \
        const type a = *(const type *)left, b = *(type *)right;                        \
        *(type *)right = a.value better b.value ? a : b.value better a.value ? b       \
                         : a.at < b.at                                       ? a : b;  \
    }
PAIR(minloc, struct double_int, double, <)
PAIR(maxloc, struct two_ints, int, >)

static void complex_sum_value(void *element, uint64_t h) {
    *(struct complex_number *)element = (struct complex_number){h % 1000, (h >> 30) % 1000};
}
static void complex_sum_combine(const void *left, void *right) {
    const struct complex_number *a = left;
    struct complex_number *b = right;
    b->re += a->re;
    b->im += a->im;
}
// First the left one, then the right one: does not commute.
static void affine_value(void *element, uint64_t h) {
    *(struct affine *)element = (struct affine){1 + h % (PRIME - 1), (h >> 32) % PRIME};
}
static void affine_combine(const void *left, void *right) {
    const struct affine a = *(const struct affine *)left, b = *(struct affine *)right;
    *(struct affine *)right = (struct affine){a.a * b.a % PRIME, (a.b * b.a + b.b) % PRIME};
}
static void modular_value(void *element, uint64_t h) {
    *(uint32_t *)element = h % PRIME;
}
static void modular_combine(const void *left, void *right) {
    *(uint32_t *)right = (*(const uint32_t *)left + *(uint32_t *)right) % PRIME;
}

// The user operators.  They find the elements by the extent of the datatype that they are
// given, so it must be the caller's own.
static MPI_Datatype affine_type, spread_type;
static MPI_Op own_operator[3];
static int own_operators;
enum { SPREAD = 24, SPREAD_A = 16, SPREAD_B = 4 };  // extent, and where a and b lie

static void affine_elements(const char *in, char *inout, MPI_Count n, MPI_Datatype type) {
    const bool spread = type == spread_type;
    check(spread || type == affine_type, "datatype given to a user operator", "not the caller's");
    for (MPI_Count i = 0; i < n; ++i) {
        const char *from = in + i * (spread ? SPREAD : 8);
        char *to = inout + i * (spread ? SPREAD : 8);
        struct affine left, right;
        const int a = spread ? SPREAD_A : 0, b = spread ? SPREAD_B : 4;
        memcpy(&left.a, from + a, 4), memcpy(&left.b, from + b, 4);
        memcpy(&right.a, to + a, 4), memcpy(&right.b, to + b, 4);
        affine_combine(&left, &right);
        memcpy(to + a, &right.a, 4), memcpy(to + b, &right.b, 4);
    }
}
static void affine_function(void *in, void *inout, int *n, MPI_Datatype *type) {
    affine_elements(in, inout, *n, *type);
}
static void modular_function(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; ++i) modular_combine((uint32_t *)in + i, (uint32_t *)inout + i);
}
#if HAVE_LARGE_COUNTS
static void affine_function_c(void *in, void *inout, MPI_Count *n, MPI_Datatype *type) {
    affine_elements(in, inout, *n, *type);
}
#endif

static void add(const char *name, MPI_Op op, Value *value, Combine *combine, int flags,
                struct layout layout) {
    reductions[count++] = (struct reduction){name, op, value, combine, flags, layout};
}

void make_reductions(void) {
    MPI_Op affine, modular;
    MPI_Op_create(affine_function, 0, &affine);
    MPI_Op_create(modular_function, 1, &modular);
    own_operator[own_operators++] = affine;
    own_operator[own_operators++] = modular;
    struct layout pair = {"pair", 0, 2, {{0, 4}, {4, 4}}, 0};
    MPI_Type_contiguous(2, MPI_UINT32_T, &pair.type);
    complete_layout(&pair);
    struct layout spread = {"spread", 0, 2, {{SPREAD_A, 4}, {SPREAD_B, 4}}, 0};
    MPI_Datatype indexed;
    MPI_Type_create_hindexed(2, (int[]){1, 1}, (MPI_Aint[]){SPREAD_A, SPREAD_B}, MPI_UINT32_T,
                             &indexed);
    MPI_Type_create_resized(indexed, 0, SPREAD, &spread.type);
    MPI_Type_free(&indexed);
    complete_layout(&spread);
    affine_type = pair.type;
    spread_type = spread.type;

#define BASIC(name, op, type, bytes, flags)       \
    add(#name, op, name##_value, name##_combine, flags, \
        (struct layout){#type, type, 1, {{0, bytes}}, bytes})
    BASIC(int_sum, MPI_SUM, MPI_INT, 4, LONG);
    BASIC(double_sum, MPI_SUM, MPI_DOUBLE, 8, LONG);
    add("affine", affine, affine_value, affine_combine, LONG, pair);
    add("affine with gaps", affine, affine_value, affine_combine, LONG, spread);
#if HAVE_LARGE_COUNTS
    MPI_Op affine_c;
    MPI_Op_create_c(affine_function_c, 0, &affine_c);
    own_operator[own_operators++] = affine_c;
    add("affine_c", affine_c, affine_value, affine_combine, 0, pair);
#endif
    add("modular", modular, modular_value, modular_combine, LONG,
        (struct layout){"unsigned", MPI_UINT32_T, 1, {{0, 4}}, 4});
    BASIC(int_product, MPI_PROD, MPI_INT, 4, 0);
    BASIC(int_max, MPI_MAX, MPI_INT, 4, 0);
    BASIC(int_min, MPI_MIN, MPI_INT, 4, 0);
    BASIC(int_land, MPI_LAND, MPI_INT, 4, TRUTH);
    BASIC(int_lor, MPI_LOR, MPI_INT, 4, TRUTH);
    BASIC(int_lxor, MPI_LXOR, MPI_INT, 4, TRUTH);
    BASIC(int_band, MPI_BAND, MPI_INT, 4, 0);
    BASIC(int_bor, MPI_BOR, MPI_UNSIGNED, 4, 0);
    BASIC(int_bxor, MPI_BXOR, MPI_INT32_T, 4, 0);
    BASIC(double_product, MPI_PROD, MPI_DOUBLE, 8, 0);
    BASIC(double_max, MPI_MAX, MPI_DOUBLE, 8, 0);
    BASIC(float_sum, MPI_SUM, MPI_FLOAT, 4, 0);
    BASIC(float_min, MPI_MIN, MPI_FLOAT, 4, 0);
    BASIC(short_sum, MPI_SUM, MPI_SHORT, 2, 0);
    BASIC(short_max, MPI_MAX, MPI_SHORT, 2, 0);
    BASIC(schar_sum, MPI_SUM, MPI_SIGNED_CHAR, 1, 0);
    BASIC(schar_min, MPI_MIN, MPI_INT8_T, 1, 0);
    BASIC(uchar_bxor, MPI_BXOR, MPI_BYTE, 1, 0);
    BASIC(long_sum, MPI_SUM, MPI_LONG, 8, 0);
    BASIC(unsigned_max, MPI_MAX, MPI_UINT64_T, 8, 0);
    BASIC(ushort_bor, MPI_BOR, MPI_UNSIGNED_SHORT, 2, 0);
    BASIC(bool_land, MPI_LAND, MPI_C_BOOL, 1, 0);
    add("minloc", MPI_MINLOC, minloc_value, minloc_combine, PADDED,
        (struct layout){"MPI_DOUBLE_INT", MPI_DOUBLE_INT, 2, {{0, 8}, {8, 4}}, 16});
    add("maxloc", MPI_MAXLOC, maxloc_value, maxloc_combine, 0,
        (struct layout){"MPI_2INT", MPI_2INT, 2, {{0, 4}, {4, 4}}, 8});
    add("complex_sum", MPI_SUM, complex_sum_value, complex_sum_combine, 0,
        (struct layout){"MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 2, {{0, 8}, {8, 8}}, 16});
}

void free_reductions(void) {
    for (int i = 0; i < own_operators; ++i) MPI_Op_free(&own_operator[i]);
    MPI_Type_free(&affine_type);
    MPI_Type_free(&spread_type);
}

// Elements in and out of a buffer: part after part, as they lie in the C struct.
static void put(const struct reduction *r, const struct area *area, MPI_Count item,
                const void *element) {
    unsigned char *to = area->at + item * r->layout.extent;
    const char *from = element;
    for (int p = 0; p < r->layout.parts; ++p) {
        memcpy(to + r->layout.part[p].at, from, (size_t)r->layout.part[p].bytes);
        from += r->layout.part[p].bytes;
    }
}
static void value(const struct reduction *r, int source, uint64_t index, unsigned call,
                  void *element) {
    r->value(element, payload(source, index, call));
}
// The combination of ranks 0 to `last` at this index.
static void combined(const struct reduction *r, int last, uint64_t index, unsigned call,
                     void *result) {
    _Alignas(16) char left[ELEMENT], right[ELEMENT];
    value(r, 0, index, call, left);
    for (int source = 1; source <= last; ++source) {
        value(r, source, index, call, right);
        r->combine(left, right);
        memcpy(left, right, ELEMENT);
    }
    memcpy(result, left, ELEMENT);
}

enum kind { REDUCE, ALLREDUCE, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, SCAN, EXSCAN, KINDS };
static const char *names[] = {"reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan"};
static bool scatters(enum kind kind) { return kind == REDUCE_SCATTER_BLOCK || kind == REDUCE_SCATTER; }

struct job {
    const struct scope *scope;
    const struct reduction *reduction;
    enum kind kind;
    MPI_Count n;
    int root;
    bool in_place, large, receives;
    unsigned call;
    MPI_Count result;  // elements of it
    MPI_Count blocks[MAX_RANKS];  // of the results, where they are scattered
    MPI_Count all;                // elements of the input
    struct area input, output, input_after, output_after;
};
static unsigned calls;

static struct job new_job(enum kind kind, const struct reduction *r, const struct scope *scope,
                          MPI_Count n, int root, bool in_place) {
    struct job j = {.scope = scope, .reduction = r, .kind = kind, .n = n, .root = root,
                    .call = calls++};
    const int rank = scope->rank, size = scope->size;
    j.large = HAVE_LARGE_COUNTS && j.call % 2;
    j.receives = kind != REDUCE || rank == root;
    j.in_place = in_place && j.receives;
    const bool blocks = scatters(kind);
    MPI_Count first = 0;
    for (int i = 0; blocks && i < size; ++i) {
        j.blocks[i] = kind == REDUCE_SCATTER ? n * ((i + (int)(j.call % 3)) % 3) : n;
        if (i < rank) first += j.blocks[i];
        j.all += j.blocks[i];
    }
    const MPI_Count all = blocks ? j.all : n, own = blocks ? j.blocks[rank] : n;
    _Alignas(16) char element[ELEMENT];

    j.input = new_area(&r->layout, j.in_place ? 0 : all);
    if (j.receives) j.output = new_area(&r->layout, j.in_place ? all : own);
    for (MPI_Count i = 0; i < all; ++i) {
        value(r, rank, (uint64_t)i, j.call, element);
        put(r, j.in_place ? &j.output : &j.input, i, element);
    }
    j.input_after = copy_area(&j.input);
    if (!j.receives) return j;
    j.output_after = copy_area(&j.output);
    j.result = kind == EXSCAN && rank == 0 ? 0 : own;
    const int last = kind == SCAN ? rank : kind == EXSCAN ? rank - 1 : size - 1;
    for (MPI_Count i = 0; i < j.result; ++i) {
        combined(r, last, (uint64_t)(i + first), j.call, element);
        put(r, &j.output_after, i, element);
    }
    return j;
}

#if HAVE_LARGE_COUNTS
#define EITHER(name, ...) (j->large ? MPI_##name##_c(__VA_ARGS__) : MPI_##name(__VA_ARGS__))
#else
#define EITHER(name, ...) MPI_##name(__VA_ARGS__)
#endif

static int reduce_scatter(const struct job *j, const void *in, void *out) {
#if HAVE_LARGE_COUNTS
    if (j->large) return MPI_Reduce_scatter_c(in, out, j->blocks, j->reduction->layout.type, j->reduction->op, j->scope->comm);
#endif
    int counts[MAX_RANKS];
    for (int i = 0; i < j->scope->size; ++i) counts[i] = (int)j->blocks[i];
    return MPI_Reduce_scatter(in, out, counts, j->reduction->layout.type, j->reduction->op, j->scope->comm);
}

static int run(struct job *j) {
    const void *in = j->in_place ? MPI_IN_PLACE : j->input.at;
    void *out = j->receives ? j->output.at : NULL;
    const MPI_Datatype type = j->reduction->layout.type;
    const MPI_Op op = j->reduction->op;
    const MPI_Comm comm = j->scope->comm;
    switch (j->kind) {
        case REDUCE: return EITHER(Reduce, in, out, j->n, type, op, j->root, comm);
        case ALLREDUCE: return EITHER(Allreduce, in, out, j->n, type, op, comm);
        case REDUCE_SCATTER_BLOCK: return EITHER(Reduce_scatter_block, in, out, j->n, type, op, comm);
        case REDUCE_SCATTER: return reduce_scatter(j, in, out);
        case SCAN: return EITHER(Scan, in, out, j->n, type, op, comm);
        default: return EITHER(Exscan, in, out, j->n, type, op, comm);
    }
}

// What MPI leaves open is made equal before the comparison.
static void allow(struct job *j) {
    const struct layout *layout = &j->reduction->layout;
    if (j->reduction->flags & TRUTH)
        for (MPI_Count i = 0; i < j->result; ++i) {
            int *got = (int *)j->output.at + i, *expected = (int *)j->output_after.at + i;
            *got = !!*got;
            *expected = !!*expected;
        }
    if (j->reduction->flags & PADDED)
        for (MPI_Count i = 0; i < j->result; ++i)
            memcpy(j->output_after.at + i * layout->extent + 12,
                   j->output.at + i * layout->extent + 12, 4);
    // In place, the blocks after the own one are left in any state.
    if (scatters(j->kind) && j->in_place && j->all > j->result) {
        const MPI_Aint from = j->result * layout->extent;
        const size_t bytes = (size_t)((j->all - j->result) * layout->extent);
        memcpy(j->output_after.at + from, j->output.at + from, bytes);
    }
}

static void check_job(struct job *j, int code) {
    char kind[96], what[256];
    snprintf(kind, sizeof kind, "%s%s %s%s", names[j->kind], j->large ? "_c" : "",
             j->reduction->name, j->in_place ? " in place" : "");
    snprintf(what, sizeof what, "%s, rank %d of %d, root %d, call %u, %lld elements",
             j->scope->name, j->scope->rank, j->scope->size, j->root, j->call, (long long)j->n);
    check(code == MPI_SUCCESS, kind, "%s: returned %d", what, code);
    check_area(&j->input, &j->input_after, kind, "the input");
    if (j->receives) {
        allow(j);
        check_area(&j->output, &j->output_after, kind, what);
    }
    free_area(&j->input);
    free_area(&j->input_after);
    free_area(&j->output);
    free_area(&j->output_after);
}

static void run_case(enum kind kind, const struct reduction *r, const struct scope *scope,
                     MPI_Count n, int first_root, int roots, bool in_place) {
    for (int k = 0; k < roots; k += BACK_TO_BACK) {
        struct job jobs[BACK_TO_BACK];
        int code[BACK_TO_BACK];
        for (int b = 0; b < BACK_TO_BACK; ++b)
            jobs[b] = new_job(kind, r, scope, n, (first_root + k + b) % scope->size, in_place);
        for (int b = 0; b < BACK_TO_BACK; ++b) code[b] = run(&jobs[b]);
        for (int b = 0; b < BACK_TO_BACK; ++b) check_job(&jobs[b], code[b]);
    }
}

// MPICH 5.0.2 and Intel MPI 2021.18: reduce_scatter(_block) by an operator that does not commute
// goes wrong, and writes outside of its buffers, where the datatype's first byte is not at its
// lower bound.
#ifdef OPEN_MPI
static const bool mpich = false;
#else
static const bool mpich = true;
#endif
static bool defective(int kind, const struct reduction *r) {
    return wrong_in_mpi(mpich && scatters(kind) && r->layout.type == spread_type);
}

// The least and the greatest of the named datatypes, by MPI_MIN and MPI_MAX, of pairs by MPI_MINLOC and MPI_MAXLOC: of
// all orders of {least, -1, 0, greatest}, whose bits are numbers with the top bit where there is no sign.
enum sign { SIGNED, UNSIGNED, FLOATING };
static const struct named {
    const char *name;
    MPI_Datatype type;
    enum sign sign;
    size_t bytes, index, extent;  // of the number, by the MPI library where 0; where a pair's index lies
} named[] = {
#define NUMBER(type, sign) {#type, type, sign, 0, 0, 0},
#define INDEXED(handle, type, sign) {#handle, handle, sign, sizeof(type), offsetof(struct { type v; int i; }, i), sizeof(struct { type v; int i; })},
    NUMBER(MPI_SIGNED_CHAR, SIGNED) NUMBER(MPI_SHORT, SIGNED) NUMBER(MPI_INT, SIGNED) NUMBER(MPI_LONG, SIGNED)
    NUMBER(MPI_LONG_LONG, SIGNED) NUMBER(MPI_INT8_T, SIGNED) NUMBER(MPI_INT16_T, SIGNED) NUMBER(MPI_INT32_T, SIGNED)
    NUMBER(MPI_INT64_T, SIGNED) NUMBER(MPI_AINT, SIGNED) NUMBER(MPI_COUNT, SIGNED) NUMBER(MPI_OFFSET, SIGNED)
    NUMBER(MPI_INTEGER, SIGNED) NUMBER(MPI_INTEGER1, SIGNED) NUMBER(MPI_INTEGER2, SIGNED) NUMBER(MPI_INTEGER4, SIGNED)
    NUMBER(MPI_INTEGER8, SIGNED) NUMBER(MPI_UNSIGNED_CHAR, UNSIGNED) NUMBER(MPI_UNSIGNED_SHORT, UNSIGNED)
    NUMBER(MPI_UNSIGNED, UNSIGNED) NUMBER(MPI_UNSIGNED_LONG, UNSIGNED) NUMBER(MPI_UNSIGNED_LONG_LONG, UNSIGNED)
    NUMBER(MPI_UINT8_T, UNSIGNED) NUMBER(MPI_UINT16_T, UNSIGNED) NUMBER(MPI_UINT32_T, UNSIGNED) NUMBER(MPI_UINT64_T, UNSIGNED)
    NUMBER(MPI_FLOAT, FLOATING) NUMBER(MPI_DOUBLE, FLOATING) NUMBER(MPI_REAL, FLOATING) NUMBER(MPI_DOUBLE_PRECISION, FLOATING)
    NUMBER(MPI_REAL4, FLOATING) NUMBER(MPI_REAL8, FLOATING)
    INDEXED(MPI_SHORT_INT, short, SIGNED) INDEXED(MPI_2INT, int, SIGNED) INDEXED(MPI_LONG_INT, long, SIGNED)
    INDEXED(MPI_FLOAT_INT, float, FLOATING) INDEXED(MPI_DOUBLE_INT, double, FLOATING)
    INDEXED(MPI_LONG_DOUBLE_INT, long double, FLOATING)
};

// Number i of a rank, in the order of the values.
static int extreme(int source, int i) { return source < 3 ? i >> 2 * source & 3 : (i + source) & 3; }
static void write_extreme(const struct named *t, int which, unsigned char *to) {
    const size_t bytes = t->bytes;
    if (t->sign == FLOATING) {
        const long double l = (const long double[]){-3e38L, -1, 0, 3e38L}[which];
        const double d = (double)l;
        const float f = (float)l;
        if (bytes == sizeof f) memcpy(to, &f, bytes);
        else if (bytes == sizeof d) memcpy(to, &d, bytes);
        else memcpy(to, &l, 10);  // behind these lies nothing
        return;
    }
    // As signed ones: least, -1, 0, greatest; as unsigned ones: 0, greatest, top bit, all others.
    const uint64_t top = UINT64_C(1) << (8 * bytes - 1), by_size = t->sign == SIGNED ? (const uint64_t[]){top, top - 1 + top, 0, top - 1}[which]
                                                                                    : (const uint64_t[]){0, top - 1, top, top - 1 + top}[which];
    memcpy(to, &by_size, bytes);
}

static void test_extremes(const struct scope *scope) {
    enum { N = 64 };
    unsigned char in[N * 32], out[N * 32], expected[N * 32];
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (size_t k = 0; k < sizeof named / sizeof *named; ++k) {
        struct named t = named[k];
        int size;
        if (wrong_in_mpi(!mpich && t.type == MPI_OFFSET)) continue;  // Open MPI's is unsigned
        // Fortran's are null, or of no size, where MPI was built without Fortran.
        if (t.type == MPI_DATATYPE_NULL || MPI_Type_size(t.type, &size) != MPI_SUCCESS || size == 0) continue;
        const bool pair = t.bytes;
        if (!pair) t.bytes = t.extent = (size_t)size;
        for (int greatest = 0; greatest < 2; ++greatest) {
            memset(in, 0, sizeof in), memset(out, 0, sizeof out), memset(expected, 0, sizeof expected);
            for (int i = 0; i < N; ++i) {
                int best = 0;
                for (int r = 1; r < scope->size; ++r) {
                    const int a = extreme(best, i), b = extreme(r, i);
                    if (greatest ? b > a : b < a) best = r;
                }
                write_extreme(&t, extreme(scope->rank, i), in + (size_t)i * t.extent);
                write_extreme(&t, extreme(best, i), expected + (size_t)i * t.extent);
                if (pair) {
                    memcpy(in + (size_t)i * t.extent + t.index, &scope->rank, sizeof(int));
                    memcpy(expected + (size_t)i * t.extent + t.index, &best, sizeof(int));
                }
            }
            const MPI_Op op = pair ? greatest ? MPI_MAXLOC : MPI_MINLOC : greatest ? MPI_MAX : MPI_MIN;
            must(MPI_Allreduce(in, out, N, t.type, op, scope->comm), "MPI_Allreduce");
            for (size_t i = 0; i < N; ++i)
                check(!memcmp(out + i * t.extent, expected + i * t.extent, t.bytes > 10 ? 10 : t.bytes) &&
                          (!pair || !memcmp(out + i * t.extent + t.index, expected + i * t.extent + t.index, sizeof(int))),
                      greatest ? "the greatest" : "the least", "%s, element %zu on rank %d of %d", t.name, i, scope->rank, scope->size);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
}

void test_reductions(const struct scope *scope, bool all) {
    static unsigned times;
    if (all && !huge && wanted("allreduce")) test_extremes(scope);
    calls = ++times * 100000;  // halves of different sizes have made different numbers of calls
    static const MPI_Count short_n[] = {0, 1, 3, 7, 25, 600, -1}, some_n[] = {2, 129, -1},
                           long_n[] = {6, 12, 13, 50, 8191, 16385, 76801, 131072, -1},
                           some_long_n[] = {12, 9001, -1}, huge_n[] = {1048577, -1};
    for (int kind = 0; kind < KINDS; ++kind) {
        if (!wanted(names[kind])) continue;
        for (int i = 0; i < count; ++i) {
            if (defective(kind, &reductions[i])) continue;
            if (commutative && reductions[i].combine == affine_combine) continue;
            const bool is_long = reductions[i].flags & LONG;
            if (!all && !is_long && (i + kind) % 4) continue;
            if (huge && i > 2) break;
            for (int lengths = 0; lengths < 2; ++lengths) {
                if (lengths && !is_long) continue;
                const MPI_Count *n = lengths ? huge  ? huge_n
                                               : all && !quick ? long_n
                                                               : some_long_n
                                     : all && !quick ? short_n
                                                     : some_n;
                if (huge && !lengths) continue;
                for (; *n >= 0; ++n) {
                    if (scatters(kind) && !huge && *n * scope->size > 200000)
                        continue;
                    // Every root with the long ones and the short ones of 7 elements.
                    const bool every_root = is_long || *n == 7;
                    const int roots = kind == REDUCE && every_root && scope->size > BACK_TO_BACK
                                          ? scope->size
                                          : BACK_TO_BACK;
                    for (int in_place = 0; in_place < 2; ++in_place)
                        run_case(kind, &reductions[i], scope, *n, i, roots, in_place);
                }
            }
        }
    }
}

// Sums of doubles that depend on the order: all ranks hold the same bits, and the same call
// gives the same bits again.
void test_same_bits(const struct scope *scope) {
    static const int lengths[] = {1, 5, 17, 1000, 9001, 70001};
    if (!wanted("allreduce") || huge) return;
#ifdef I_MPI_VERSION  // 2021.18, 3 ranks and more, 70001 doubles: other bits the second time
    if (wrong_in_mpi(true)) return;
#endif
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l) {
        const int n = lengths[l];
        const size_t bytes = (size_t)n * sizeof(double);
        double *in = malloc(bytes), *first = malloc(bytes), *again = malloc(bytes);
        for (int i = 0; i < n; ++i)
            in[i] = (double)(int64_t)payload(scope->rank, (uint64_t)i, (unsigned)n) /
                    (double)(1 + payload(scope->rank, (uint64_t)i, 77u) % 1000003);
        must(MPI_Allreduce(in, first, n, MPI_DOUBLE, MPI_SUM, scope->comm), "MPI_Allreduce");
        for (int turn = 0; turn < 3; ++turn) {
            memset(again, 0x5a, bytes);
            must(MPI_Allreduce(in, again, n, MPI_DOUBLE, MPI_SUM, scope->comm), "MPI_Allreduce");
            check(!memcmp(first, again, bytes), "allreduce: same call, same bits",
                  "%s, %d doubles, turn %d", scope->name, n, turn);
        }
        if (scope->rank) {
            must(MPI_Send(first, n, MPI_DOUBLE, 0, 7, scope->comm), "MPI_Send");
        } else {
            for (int r = 1; r < scope->size; ++r) {
                must(MPI_Recv(again, n, MPI_DOUBLE, r, 7, scope->comm, MPI_STATUS_IGNORE),
                     "MPI_Recv");
                check(!memcmp(first, again, bytes), "allreduce: same bits on all ranks",
                      "%s, %d doubles, ranks 0 and %d", scope->name, n, r);
            }
        }
        free(in), free(first), free(again);
    }
}

#include "step.h"

#include <math.h>
#include <stdint.h>

// The level's vectors, how many planes its registers hold, and what C has no operator for.
#ifdef __SSE2__
#include <immintrin.h>
#endif
#ifdef __AVX512F__
enum { lanes = 8, together = 4 };
#define ONE_BACK 7, 8, 9, 10, 11, 12, 13, 14
#define ONE_FURTHER 1, 2, 3, 4, 5, 6, 7, 8
#define STREAM _mm512_stream_pd
#define FUSED _mm512_fmadd_pd
#elif defined(__AVX2__) && defined(__FMA__)
enum { lanes = 4, together = 2 };
#define ONE_BACK 3, 4, 5, 6
#define ONE_FURTHER 1, 2, 3, 4
#define STREAM _mm256_stream_pd
#define FUSED _mm256_fmadd_pd
#else
enum { lanes = 2, together = 2 };
#define ONE_BACK 1, 2
#define ONE_FURTHER 1, 2
#ifdef __SSE2__
#define STREAM _mm_stream_pd
#endif
#endif

#ifdef __clang__
#define SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLED(a, b, ...) __builtin_shuffle(a, b, (Lanes){__VA_ARGS__})
#endif
#define INLINED static inline __attribute__((always_inline))

typedef double Vector __attribute__((vector_size(lanes * sizeof(double))));
typedef int64_t Lanes __attribute__((vector_size(lanes * sizeof(double))));
// Fast where it does not cross a line of memory; right everywhere.
typedef double InMemory __attribute__((vector_size(lanes * sizeof(double)), aligned(sizeof(double)), may_alias));

enum { line = 8 };  // doubles in a line of memory

INLINED Vector load(const double *from) { return *(const InMemory *)from; }

INLINED void store(double *to, Vector v, int past_cache)
{
#ifdef STREAM
    if (past_cache) {
        STREAM(to, v);
        return;
    }
#endif
    *(InMemory *)to = v;
}

// Whether its lines can be written past the cache as wholes.
INLINED int on_a_line(const double *p) { return (uintptr_t)p % (line * sizeof *p) == 0; }

// What went past the cache is there before what is written from here on.
INLINED void in_order(void)
{
#ifdef STREAM
    _mm_sfence();
#endif
}

// a * x + b, rounded once.  It is said and not left to the compiler, which would fuse another
// product in another loop: so a cell has the same bits wherever it lies, on every processor.
INLINED Vector fused(Vector a, Vector x, Vector b)
{
#ifdef FUSED
    return FUSED(a, x, b);
#else
    for (int i = 0; i < lanes; i++)
        b[i] = fma(a[i], x[i], b[i]);
    return b;
#endif
}

INLINED Vector in_all(double x) { return x - (Vector){0}; }

INLINED Vector phi(Vector u, Factors f) { return fused(f.half_beta * u, u, u); }

// phi of the vectors of cells before these and of these, in each of the planes.
typedef struct Carried {
    Vector before[together], here[together];
} Carried;

// A vector of cells in each plane, one above the other, so that phi of what is below, above,
// before and behind a cell is mostly at hand.  What is one cell back or further is shifted out of
// two vectors: a load of it would cross a line of memory.
INLINED void cells(const double *u, Vector *made, Carried *phis, Extent e, Factors f, int planes)
{
    Vector below = phi(load(u - e.to_next_plane), f);
#pragma GCC unroll 4
    for (int k = 0; k < planes; k++, u += e.to_next_plane) {
        Vector before = phis->before[k], here = phis->here[k], behind = phi(load(u + lanes), f);
        Vector above = k + 1 < planes ? phis->here[k + 1] : phi(load(u + e.to_next_plane), f);
        Vector in_x = SHUFFLED(before, here, ONE_BACK) + SHUFFLED(here, behind, ONE_FURTHER);
        Vector in_y = phi(load(u - e.to_next_row), f) + phi(load(u + e.to_next_row), f);
        Vector sum = fused(in_all(f.center), here, load(u));
        sum = fused(in_all(f.x), in_x, sum);
        sum = fused(in_all(f.y), in_y, sum);
        made[k] = fused(in_all(f.z), below + above, sum);
        below = phis->before[k] = here;
        phis->here[k] = behind;
    }
}

// A row of each of so many planes.  Memory is asked for what lies so far ahead: the processor by
// itself follows one stream, and not one in each plane.
INLINED void row(const double *u, double *next, Extent e, Factors f, int planes, long ahead, int past_cache)
{
    Carried phis;
    Vector made[together];
#pragma GCC unroll 4
    for (int k = 0; k < planes; k++) {
        phis.before[k] = phi(load(u - lanes + k * e.to_next_plane), f);
        phis.here[k] = phi(load(u + k * e.to_next_plane), f);
    }
    long x = 0;
    for (; x + line <= e.x; x += line) {
#pragma GCC unroll 4
        for (int k = 1; k <= planes; k++)
            __builtin_prefetch(u + x + ahead + k * e.to_next_plane);
#pragma GCC unroll 4
        for (long i = x; i < x + line; i += lanes) {
            cells(u + i, made, &phis, e, f, planes);
#pragma GCC unroll 4
            for (int k = 0; k < planes; k++)
                store(next + i + k * e.to_next_plane, made[k], past_cache);
        }
    }
    for (; x < e.x; x += lanes) {
        cells(u + x, made, &phis, e, f, planes);
        for (int k = 0; k < planes; k++)
            for (long i = x; i < e.x && i < x + lanes; i++)
                next[i + k * e.to_next_plane] = made[k][i - x];
    }
}

// The rows of so many planes, `first` to before `end`.
INLINED void rows(const double *u, double *next, Extent e, Factors f, long first, long end, int planes, int past_cache)
{
    const long further = 1 + 512 / e.to_next_row;
    for (long y = first; y < end; y++) {
        long ahead = further * e.to_next_row;
        if (y + further > end)  // in the planes after these
            ahead += planes * e.to_next_plane - (end - first) * e.to_next_row;
        row(u + y * e.to_next_row, next + y * e.to_next_row, e, f, planes, ahead, past_cache);
    }
}

// All planes for some rows, and then for the next ones: so few that the core's own cache keeps
// them of all planes in use, and a cell comes from memory once.
INLINED void step(const double *u, double *next, Extent e, Factors f, int past_cache)
{
    const long block = 1 + 8192 / e.to_next_row;
    for (long y = 0; y < e.y; y += block) {
        long end = y + block < e.y ? y + block : e.y, z = 0;
        for (; z + together <= e.z; z += together)
            rows(u + z * e.to_next_plane, next + z * e.to_next_plane, e, f, y, end, together, past_cache);
        for (; z < e.z; z++)
            rows(u + z * e.to_next_plane, next + z * e.to_next_plane, e, f, y, end, 1, past_cache);
    }
}

void STEP(const double *u, double *next, Extent e, Factors f, int past_cache)
{
    if (past_cache && on_a_line(next)) {
        step(u, next, e, f, 1);
        in_order();
    } else {
        step(u, next, e, f, 0);
    }
}

// Not memcpy, which decides by itself what goes past the cache.
void COPY(const double *from, double *to, long n, int past_cache)
{
    long i = 0;
    for (; past_cache && on_a_line(to) && i + lanes <= n; i += lanes)
        store(to + i, 1.0000001 * load(from + i), 1);
    in_order();
    for (; i < n; i++)
        to[i] = 1.0000001 * from[i];
}

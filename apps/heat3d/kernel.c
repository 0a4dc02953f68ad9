#include "kernel.h"

#include <math.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif
#define INLINED static inline __attribute__((always_inline))

typedef struct Strides {
    long y, z;
} Strides;

typedef struct Factors {
    double rx, ry, rz, centre, half_beta;
} Factors;

INLINED double pair(double a, double b, double half_beta) { return (a + b) + half_beta * (a * a + b * b); }

// n cells of a row in each of so many planes.
INLINED void cells(const double *restrict u, double *restrict next, long n, int planes, Strides s, Factors f)
{
#pragma GCC unroll 4
    for (int k = 0; k < planes; k++, u += s.z, next += s.z)
        for (long x = 0; x < n; x++)
            next[x] = u[x] - f.centre * (u[x] + f.half_beta * u[x] * u[x]) +
                      f.rx * pair(u[x - 1], u[x + 1], f.half_beta) + f.ry * pair(u[x - s.y], u[x + s.y], f.half_beta) +
                      f.rz * pair(u[x - s.z], u[x + s.z], f.half_beta);
}

enum { line = 8, rows_ahead = 4 };

// A line of memory at a time, and ahead of it the lines that are new and those to be written: the
// processor follows one such stream by itself, not the eight of four planes.
INLINED void row(const double *u, double *next, long n, int planes, Strides s, Factors f)
{
    long x = 0;
    for (; x + line <= n; x += line) {
        for (int k = 0; k < planes; k++) {
            __builtin_prefetch(u + x + rows_ahead * s.y + (k + 1) * s.z, 0, 3);
            __builtin_prefetch(next + x + rows_ahead * s.y + k * s.z, 1, 3);
        }
        cells(u + x, next + x, line, planes, s, f);
    }
    cells(u + x, next + x, n - x, planes, s, f);
}

// A whole line, past the cache: it is not fetched before it is written.
INLINED void stream(double *to, const double *from)
{
#ifdef __SSE2__
    for (int i = 0; i < line; i += 2)
        _mm_stream_pd(to + i, _mm_load_pd(from + i));
#else
    for (int i = 0; i < line; i++)
        to[i] = from[i];
#endif
}

// For fields that no cache holds.
INLINED void row_past_the_cache(const double *u, double *next, long n, int planes, Strides s, Factors f)
{
    long x = 0;
    for (; x + line <= n; x += line) {
        for (int k = -1; k <= planes; k++)
            __builtin_prefetch(u + x + rows_ahead * s.y + k * s.z, 0, 3);
        for (int k = 0; k < planes; k++) {
            _Alignas(64) double made[line];
            cells(u + x + k * s.z, made, line, 1, s, f);
            stream(next + x + k * s.z, made);
        }
    }
    cells(u + x, next + x, n - x, planes, s, f);
}

INLINED void in_order(void)  // what went past the cache, before what is written from here on
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

// Four planes at once need six, where one needs three: half of what comes from the outer caches.
// What goes past the cache is written to two at a time; measured best on an EPYC (Zen 5).
VECTORISED void kernel_step(const Grid *g, const double *u, double *next, const double r[3], double beta)
{
    const Strides s = {(long)g->stride[1], (long)g->stride[2]};
    const Factors f = {r[0], r[1], r[2], 2 * (r[0] + r[1] + r[2]), beta / 2};
    int z = 0;
    if (g->past_cache) {
        for (; z + 2 <= g->size[2]; z += 2)
            for (int y = 0; y < g->size[1]; y++) {
                size_t at = grid_index(g, 0, y, z);
                row_past_the_cache(u + at, next + at, g->size[0], 2, s, f);
            }
        in_order();
    }
    for (; z + 4 <= g->size[2]; z += 4)
        for (int y = 0; y < g->size[1]; y++) {
            size_t at = grid_index(g, 0, y, z);
            row(u + at, next + at, g->size[0], 4, s, f);
        }
    for (; z < g->size[2]; z++)
        for (int y = 0; y < g->size[1]; y++) {
            size_t at = grid_index(g, 0, y, z);
            row(u + at, next + at, g->size[0], 1, s, f);
        }
}

double kernel_change(const Grid *g, const double *u, const double *next)
{
    double most = 0;
    for (int z = 0; z < g->size[2]; z++)
        for (int y = 0; y < g->size[1]; y++) {
            size_t at = grid_index(g, 0, y, z);
            for (int x = 0; x < g->size[0]; x++)
                most = fmax(most, fabs(next[at + (size_t)x] - u[at + (size_t)x]));
        }
    return most;
}

VECTORISED void kernel_copy(const double *restrict from, double *restrict to, size_t n, int past_cache)
{
    // Not memcpy, which decides by itself what goes past the cache.
    size_t i = 0;
    for (; past_cache && i + line <= n; i += line) {
        _Alignas(64) double made[line];
        for (int k = 0; k < line; k++)
            made[k] = 1.0000001 * from[i + (size_t)k];
        stream(to + i, made);
    }
    in_order();
    for (; i < n; i++)
        to[i] = 1.0000001 * from[i];
}

int kernel_goes_past_cache(const Grid *g, int ranks_on_node)
{
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache > 0 && 2 * g->doubles * sizeof(double) * (size_t)ranks_on_node > (size_t)cache;
}

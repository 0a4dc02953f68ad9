#include "kernel.h"

#include <math.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

static inline __attribute__((always_inline)) void row(const double *restrict u, double *restrict next, long n, long sy, long sz, double rx,
                           double ry, double rz, double half_beta)
{
#define PHI(i) (u[i] * (1 + half_beta * u[i]))
    for (long x = 0; x < n; x++) {
        double twice = 2 * PHI(x);
        next[x] = u[x] + rx * (PHI(x - 1) + PHI(x + 1) - twice) + ry * (PHI(x - sy) + PHI(x + sy) - twice) +
                  rz * (PHI(x - sz) + PHI(x + sz) - twice);
    }
#undef PHI
}

VECTORISED void kernel_step(const Grid *g, const double *u, double *next, const double r[3], double beta)
{
    for (int z = 0; z < g->size[2]; z++)
        for (int y = 0; y < g->size[1]; y++) {
            size_t at = grid_index(g, 0, y, z);
            row(u + at, next + at, g->size[0], (long)g->stride[1], (long)g->stride[2], r[0], r[1], r[2], beta / 2);
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

VECTORISED void kernel_copy(const double *restrict from, double *restrict to, size_t n)
{
    // Not memcpy, whose stores may go past the cache: a step's do not.
    for (size_t i = 0; i < n; i++)
        to[i] = 1.0000001 * from[i];
}

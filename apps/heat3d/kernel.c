#include "kernel.h"

#include <math.h>
#include <unistd.h>

#include "step.h"

static const struct Level {
    Step *step;
    Copy *copy;
} levels[] = {
    {step_plain, copy_plain},
#ifdef HEAT3D_LEVELS
    {step_v3, copy_v3},
    {step_v4, copy_v4},
#endif
};

int kernel_levels(void)
{
#ifdef HEAT3D_LEVELS
    return __builtin_cpu_supports("x86-64-v4") ? 3 : __builtin_cpu_supports("x86-64-v3") ? 2 : 1;
#else
    return 1;
#endif
}

void kernel_step(int level, const Grid *g, const double *u, double *next, const double r[3], double beta)
{
    const Extent e = {g->size[0], g->size[1], g->size[2], (long)g->stride[1], (long)g->stride[2]};
    const Factors f = {r[0], r[1], r[2], -2 * (r[0] + r[1] + r[2]), beta / 2};
    size_t first = grid_index(g, 0, 0, 0);
    levels[level].step(u + first, next + first, e, f, g->past_cache);
}

void kernel_copy(int level, const double *from, double *to, size_t n, int past_cache)
{
    levels[level].copy(from, to, (long)n, past_cache);
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

int kernel_goes_past_cache(const Grid *g, int ranks_on_node)
{
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache > 0 && 2 * g->doubles * sizeof(double) * (size_t)ranks_on_node > (size_t)cache;
}

#include "kernel.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

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

// Of the cache that several cores share: its bytes and these cores, or 0.  Not by sysconf, which
// on some processors says the sum of all such caches.
static size_t shared_cache(int *cores)
{
    unsigned long kib = 0;
    FILE *size = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    FILE *map = fopen("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_map", "r");
    *cores = 0;
    if (size && map && fscanf(size, "%luK", &kib) == 1)
        for (int c; (c = fgetc(map)) != EOF;)  // hexadecimal, a bit for each core
            if (isxdigit(c))
                *cores += __builtin_popcount((unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10));
    if (size)
        fclose(size);
    if (map)
        fclose(map);
    return kib * 1024;
}

int kernel_goes_past_cache(const Grid *g, int ranks_on_node)
{
    int cores;
    size_t cache = shared_cache(&cores), sharing = (size_t)(ranks_on_node < cores ? ranks_on_node : cores);
    return 2 * g->doubles * sizeof(double) * sharing > cache;
}

// Median, quartiles and minimum of a sample; times are written in microseconds.
#ifndef FANLIGHT_BENCH_STATISTICS_H
#define FANLIGHT_BENCH_STATISTICS_H

#include <stdio.h>
#include <stdlib.h>

typedef struct Statistics {
    double minimum, lower_quartile, median, upper_quartile;
} Statistics;

static inline int statistics_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double statistics_quantile(const double *sorted, int n, double q)
{
    double position = q * (n - 1);
    int below = (int)position;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

// Sorts the sample in place.
static inline Statistics statistics_of(double *sample, int n)
{
    qsort(sample, (size_t)n, sizeof *sample, statistics_compare);
    return (Statistics){sample[0], statistics_quantile(sample, n, 0.25),
                        statistics_quantile(sample, n, 0.5), statistics_quantile(sample, n, 0.75)};
}

static inline void statistics_write(FILE *out, Statistics s)
{
    fprintf(out, "{\"median\":%.4f,\"q1\":%.4f,\"q3\":%.4f,\"min\":%.4f}", 1e6 * s.median,
            1e6 * s.lower_quartile, 1e6 * s.upper_quartile, 1e6 * s.minimum);
}

#endif

// The first line of a benchmark: what ran, and where.
#ifndef FANLIGHT_BENCH_RUN_LINE_H
#define FANLIGHT_BENCH_RUN_LINE_H

#include "shared.h"

#include <stdio.h>

// `figures`: how many results follow.
void write_run_line(FILE *out, const Shared *shared, bool bound, int figures);

#endif

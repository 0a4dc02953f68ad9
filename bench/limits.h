// The physical limits between ranks 0 and 1, measured in the same run: what a collective
// operation inside a node cannot beat.
#ifndef FANLIGHT_BENCH_LIMITS_H
#define FANLIGHT_BENCH_LIMITS_H

#include "shared.h"

#include <stdio.h>

// All ranks call it; rank 0 writes one JSON line per limit.
void measure_limits(Shared *shared, FILE *out);
// Its round_trip alone, in some ms where the two have a core each; within one node.
void measure_round_trip(Shared *shared, FILE *out);
// Of several nodes what a message between them takes; by measure_limits.
void measure_link(Shared *shared, FILE *out);

#endif

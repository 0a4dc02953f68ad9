// NEURON's exchange of spikes: an allgather of the counts and, if anybody has spikes, an allgatherv of
// them; by the MPI library, by Fanlight's preload, and by one call of fanlight_allgatherv_any.
#ifndef FANLIGHT_BENCH_EXCHANGE_H
#define FANLIGHT_BENCH_EXCHANGE_H

#include "shared.h"

#include <stdio.h>

// All ranks call it; rank 0 writes one JSON line for each share of silent ranks and number of
// spikes of the others. False if a result was wrong.
bool measure_exchange(Shared *shared, int blocks, double block_seconds, FILE *out);

#endif

// One explicit step of du/dt = div(D grad u) with D = D0 (1 + beta u).
//
// The flux between two cells is D at their mean temperature times their difference, which is
// exactly the difference of phi(u) = u + beta/2 u^2: the sum over the six faces needs phi of
// seven cells and no more.
#ifndef HEAT3D_KERNEL_H
#define HEAT3D_KERNEL_H

#include "grid.h"

// It is compiled for several levels of processors, each with longer vectors than the one before
// and the same bits: how many of them this one can run.
int kernel_levels(void);

// r: D0 dt / h^2 of each direction.
void kernel_step(int level, const Grid *g, const double *u, double *next, const double r[3], double beta);
// As many loads and stores as a step, of the same kind, and nothing else: what the memory gives.
void kernel_copy(int level, const double *from, double *to, size_t n, int past_cache);
// The greatest change from one field to the other.
double kernel_change(const Grid *g, const double *u, const double *next);
// Whether the fields are longer than the cache that ranks of this node share: then a step's
// results are written past it, 16 bytes moved for each cell and not 24.
int kernel_goes_past_cache(const Grid *g, int ranks_on_node);

#endif

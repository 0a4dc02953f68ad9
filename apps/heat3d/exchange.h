// Four ways to fill the halos; the solver is the same.
#ifndef HEAT3D_EXCHANGE_H
#define HEAT3D_EXCHANGE_H

#include "grid.h"

typedef struct Times {  // of one step, in seconds
    double computation, exchange, synchronization;
    double fill;  // the last two, and what lies between
} Times;

typedef struct Exchange {
    const char *name;
    int (*begin)(Grid *);  // gives the fields their memory; false where there is none
    // Fills the halo of field[which]; adds what its two parts took.
    void (*fill)(Grid *, int which, Times *);
    void (*end)(Grid *);
} Exchange;

extern const Exchange exchange_sendrecv, exchange_rma, exchange_dart, exchange_fanlight;

#endif

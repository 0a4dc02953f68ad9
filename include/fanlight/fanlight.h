// Fanlight's own interface for C: collective operations on communicators (which need mpi.h), and
// global memory.  They are in two libraries: libfanlight-<abi>.so, libdart-fanlight-<abi>.so.
#ifndef FANLIGHT_FANLIGHT_H
#define FANLIGHT_FANLIGHT_H

#include "fanlight/allgatherv_any.h"
#include "fanlight/collectives.h"
#include "fanlight/global.h"

#endif

// How this library came into the program.  Preloaded, it stands in for MPI's collectives.  Linked
// alone, it leaves them to the MPI library and serves fanlight_xxx: other programs of the same
// job, which share MPI_COMM_WORLD, need not have it.
#pragma once

namespace fanlight {

extern const bool preloaded;

// Whether the program's MPI_Wait is this library's.  Not where the MPI library was linked before
// it, or a tool above wraps MPI_Wait: a request of ours would then never be complete.
bool waits_come_here();

}  // namespace fanlight

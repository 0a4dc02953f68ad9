// Everybody puts its block to the root, and only the root knows where it goes: gather/all_write_root.cpp with blocks of any
// lengths.
//
// Cost: a + n b in one round if the memory sustains P - 1 writers, n the length of the longest block: the writers' cores
// move the blocks instead of the root's.
// Source: RMA trees II (linear), reversed.  Any number of ranks; every rank but the root only needs its own length.
#include "algorithms/declarations.h"

namespace fanlight::gatherv_algorithms {

Schedule all_write_root(const Problem& problem) { return gather_algorithms::all_write_root(problem); }

}  // namespace fanlight::gatherv_algorithms

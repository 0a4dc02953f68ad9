// The root reads everybody's block: gather/root_reads_all.cpp with blocks of any lengths.
//
// Cost: a + (sum of the other blocks' lengths) b in one round, all at the root.
// Source: Intra-Cell 4 (vector forms), 3.3 (OTA).  Any number of ranks; every rank but the root only needs its own length.
#include "algorithms/declarations.h"

namespace fanlight::gatherv_algorithms {

Schedule root_reads_all(const Problem& problem) {
    return gather_algorithms::root_reads_all(problem);
}

}  // namespace fanlight::gatherv_algorithms

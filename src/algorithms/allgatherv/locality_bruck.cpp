// allgather/locality_bruck.cpp, with blocks of any lengths.
//
// Cost: as there.
// Source: Bienz, Gautam, Kharel 2022 (locality-aware Bruck).
#include "algorithms/declarations.h"

namespace fanlight::allgatherv_algorithms {

Schedule locality_bruck(const Problem& problem) {
    if (problem.topology.simplified().levels() == 0) return bruck(problem);
    return allgather_algorithms::locality_bruck(problem);
}

}  // namespace fanlight::allgatherv_algorithms

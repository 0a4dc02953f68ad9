// Round i: block r + i goes to rank r + i: reduce_scatter_block/pairwise.cpp with blocks of any
// lengths.
//
// Cost: (P - 1) (a + n b + n g), n the length of the longest block.
// Source: Thakur, Rabenseifner, Gropp 2005, 4.4.  Any number of ranks; operators that commute.
#include "algorithms/declarations.h"

namespace fanlight::reduce_scatter_algorithms {

Schedule pairwise(const Problem& problem) {
    return reduce_scatter_block_algorithms::pairwise(problem);
}

}  // namespace fanlight::reduce_scatter_algorithms

// Sums go up through the levels of the topology to the first rank of each domain; what lies before each
// domain comes down, where it is combined with what lies before each part of the domain inside.
//
// Cost: of each level that of a reduce, an exscan and a bcast there, and n g.
// Source: Pruned ring I (multi-core aware collectives).  Any operator.  Where a domain's ranks do not follow
// each other it is as of one domain.
#include "algorithms/prefix.h"

namespace fanlight::exscan_algorithms {

Schedule by_levels(const Problem& problem) { return prefixes_by_levels(problem); }

}  // namespace fanlight::exscan_algorithms

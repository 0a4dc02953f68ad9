// Level by level (a scan inside, exscans between) each rank learns what lies before it in its domain, and the last one what the domain
// comes to; then what lies before each domain comes down, and each rank there combines it with its own.
//
// Cost: of each level that of a scan or an exscan and a bcast there, and n g.
// Source: Pruned ring I (multi-core aware collectives).  Any operator.  Where a domain's ranks do not follow
// each other it is as of one domain.
#include "algorithms/prefix.h"

namespace fanlight::scan_algorithms {

Schedule by_levels(const Problem& problem) { return prefixes_by_levels(problem); }

}  // namespace fanlight::scan_algorithms

// Level by level (a scan inside, exscans between) each rank learns the sum of what precedes it in its domain, and the last
// one the domain's total.  Then the sum of what precedes each domain comes down, and each rank there combines it with its
// own.
//
// Cost: of each level that of a scan or an exscan and a bcast there, and n g.
// Source: Pruned ring I (multi-core aware collectives).  Any operator.  If a domain's ranks are not consecutive, all ranks
// count as one domain.
#include "algorithms/prefix.h"

namespace fanlight::scan_algorithms {

Schedule by_levels(const Problem& problem) { return prefixes_by_levels(problem); }

}  // namespace fanlight::scan_algorithms

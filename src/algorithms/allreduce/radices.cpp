// From the innermost domains outwards, the ranks divide the vector among them and combine their shares; on the way back
// they gather it (shares.h).  In each stage as many ranks meet as there are domains in one domain.
//
//     128 cores as 2x16x4:  4 meet for a quarter each, then 16 for a 16th of that, then 2
//
// Cost: over stages of m ranks: of puts 2 a, of many ranks 2 (m - 1) a;  2 n (P - 1) / P b + n (P - 1) / P g.
// Source: Jocksch et al. 2026 (hardware radices); Rabenseifner 2004.  Any number of ranks and domains of any sizes; any
// operator.  If it does not commute and a domain's ranks are not consecutive, all ranks count as one domain.
#include "algorithms/shares.h"

namespace fanlight::allreduce_algorithms {

Schedule radices(const Problem& problem) {
    Shares shares(problem);
    shares.reduce_up();
    shares.gather_down();
    return shares.finish();
}

}  // namespace fanlight::allreduce_algorithms

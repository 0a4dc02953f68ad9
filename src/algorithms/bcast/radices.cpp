// From domain to domain around the root the vector is divided among all ranks, then gathered on the way back (shares.h).
// A rank that passed a part on keeps it.
//
//     4 ranks, 01 | 23, root 0:  1 gets the second half;  2 a quarter of 0, 3 one of 1;  these to the two others; then
//     inside 0 and 1, 2 and 3 give each other what is missing
//
// Cost: over stages of m ranks: of two 2 a, of more 2 (m - 1) a;  2 n (P - 1) / P b at most.
// Source: Jocksch et al. 2026 (hardware radices); van de Geijn's scatter and allgather (Thakur, Rabenseifner, Gropp 2005).
// Any number of ranks and domains of any sizes.
#include "algorithms/shares.h"

namespace fanlight::bcast_algorithms {

Schedule radices(const Problem& problem) {
    Shares shares(problem);
    shares.scatter_up();
    shares.gather_down();
    return shares.finish();
}

}  // namespace fanlight::bcast_algorithms

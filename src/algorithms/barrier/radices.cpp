// Level by level the domains of a domain meet (shares.h): each rank hears from one rank of each other domain that all ranks
// there have come.  So in the end it has heard of all, and nothing need come back.
//
//     5 ranks, 01 | 234:  0 and 1, and 2, 3 and 4 tell each other;  then 2 and 4 hear from 0, 3 from 1, 0 from 2, 1 from 3
//
// Cost: a in each level, for m domains to m - 1 ranks, or some more if they differ in size.
// Source: Jocksch et al. 2026 (hardware radices); Hoefler et al. 2006 (n-way dissemination).  Any number of ranks and
// domains of any sizes; at most Parameters::degree meet.
#include "algorithms/shares.h"

namespace fanlight::barrier_algorithms {

Schedule radices(const Problem& problem) {
    Builder b(problem);
    const Division division(problem);
    for (std::size_t s = 0; s + 1 < division.levels(); ++s) {
        const auto [begin, end] = division.inside(s, division.domain_of(s + 1, problem.rank));
        const std::size_t own = division.domain_of(s, problem.rank);
        const auto [first, last] = division.places(s, own);
        const std::size_t here = division.place(problem.rank) - first;
        for (std::size_t c = begin; c < end; ++c) {
            if (c == own) continue;
            const auto [there, behind] = division.places(s, c);
            for (std::size_t i = here; i < behind - there; i += last - first) b.put(division.rank_at(there + i), input(), output(), 0);
            b.arrive(division.rank_at(there + here % (behind - there)), output(), 0);
        }
        b.next_round();
    }
    Schedule result = b.finish();
    result.bounds.known = result.bounds.exact = true;  // signals take no room
    return result;
}

}  // namespace fanlight::barrier_algorithms

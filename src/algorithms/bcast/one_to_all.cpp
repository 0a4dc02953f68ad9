// The root offers its vector, everybody reads it.
//
// Cost: a + n b (1 + contention).  The contention of P - 1 readers of the same memory is small inside a node, and P - 1 for
// readers behind one network link.
// Source: Intra-Cell 3.3 (OTA).  Any number of ranks.  Parameters::shift avoids a hot spot: the i-th rank after the root
// begins i * shift bytes further on and reads the start last.
#include "schedule/builder.h"

namespace fanlight::bcast_algorithms {

Schedule one_to_all(const Problem& problem) {
    Builder b(problem);
    if (problem.rank == problem.root) {
        if (problem.size > 1) b.offer_to_all_others(input(), problem.bytes);
        b.copy(input(), output(), problem.bytes);
    } else {
        const auto shift = static_cast<std::size_t>(problem.parameters.shift) *
                           static_cast<std::size_t>(problem.relative(problem.rank));
        const std::size_t begin = problem.bytes > 0 ? shift % problem.bytes : 0;
        b.get(problem.root, 0, input(begin), output(begin), problem.bytes - begin);
        if (begin > 0) b.get(problem.root, 0, input(), output(), begin);
    }
    return b.finish();
}

}  // namespace fanlight::bcast_algorithms

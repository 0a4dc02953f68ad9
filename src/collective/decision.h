// The decision for a call: a plan, or the reason why the MPI library serves it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/registry.h"
#include "collective/mpi_header.h"
#include "collective/reason.h"
#include "execute/plan_cache.h"
#include "execute/run.h"
#include "transport/kind.h"

namespace fanlight {

class Group;
namespace guard {
class Calls;
}

// By the rules, so that all ranks choose alike.
struct Chosen {
    const Algorithm* algorithm = nullptr;     // null: the MPI library
    std::string_view text;                    // its name, with those of its levels
    Transport transport = Transport::shared;  // on several nodes: between them
    Group* across = nullptr;                  // runs it, where not all ranks share memory
    std::size_t bytes = 0;
    std::pair<std::size_t, std::size_t> alike{1, 0};  // blocks of different lengths: the known_bytes() for which the rules choose the same
    Reason reason = Reason::none;
    guard::Calls* guarded = nullptr;  // the guard's class of this call; null: not guarded
};

// If lengths are unknown, the decision of an operation and a root has no plan; each one that knows its lengths has.
// An operation in flight holds its decision.
struct Decision : Chosen, Planned, std::enable_shared_from_this<Decision> {
    bool is_in_flight() const { return weak_from_this().use_count() > 1; }
};

// The last call of an operation as the program wrote it: the same call again need not examine datatypes and operators.
// Only for named datatypes and operators, whose handles always mean the same.
struct LastCall {
    const Decision* decision = nullptr;
    MPI_Count count = -1, other_count = -1;
    MPI_Datatype datatype{}, other_datatype{};
    MPI_Op op{};
    int root = -1;
    Combiner combiner{};
    bool same_bits = true;  // as the MPI library's own result
    // Blocks of their own lengths: what the arrays were, where the first block lies in each buffer, and the datatypes' sizes.
    std::vector<std::ptrdiff_t> counts = {}, places = {};
    std::ptrdiff_t input = 0, output = 0;
    std::size_t size = 0, other_size = 0;

    // The arrays of one side; alltoallv has two, one behind the other.
    template <class C, class D>
    void add_arrays(const C* all_counts, const D* displacements, int ranks) {
        counts.insert(counts.end(), all_counts, all_counts + ranks);
        places.insert(places.end(), displacements, displacements + ranks);
    }
    template <class C, class D>
    bool has_arrays(const C* all_counts, const D* displacements, int ranks, int sides = 1, int side = 0) const {
        const auto n = static_cast<std::size_t>(ranks), first = n * static_cast<std::size_t>(side);
        if (counts.size() != n * static_cast<std::size_t>(sides) || !all_counts || !displacements) return false;
        for (std::size_t r = 0; r < n; ++r)
            if (counts[first + r] != static_cast<std::ptrdiff_t>(all_counts[r]) || places[first + r] != static_cast<std::ptrdiff_t>(displacements[r]))
                return false;
        return true;
    }
};

}  // namespace fanlight

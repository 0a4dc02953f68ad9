// A communicator that Fanlight serves: its group, and what was decided for each kind of call.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "algorithms/registry.h"
#include "collective/mpi_header.h"
#include "collective/reason.h"
#include "collective/workspace.h"
#include "execute/group.h"
#include "memory/segment.h"
#include "schedule/problem.h"

namespace fanlight {

// What happens to one kind of call: a plan, or the reason why the MPI library serves it.
struct Decision {
    const Algorithm* algorithm = nullptr;  // null: the MPI library
    Parameters parameters;
    Plan plan;                             // empty for gatherv and scatterv
    std::size_t bytes = 0;
    Reason reason = Reason::none;
};

// The kinds of call: what MPI guarantees to be the same on all ranks, and nothing else.
struct Kind {
    Operation operation{};
    int root = 0;
    std::size_t bytes = 0;             // the vector, or one block
    std::size_t element = 1;
    bool commutative = true;
    std::vector<std::size_t> blocks = {};   // allgatherv: the length of each rank's
    friend bool operator==(const Kind&, const Kind&) = default;
};
struct KindHash {
    std::size_t operator()(const Kind&) const;
};

// The last call of an operation as the program wrote it, so that the same call again needs no
// look at datatypes and operators.  Only with named datatypes and operators, whose handles
// always mean the same.
struct LastCall {
    const Decision* decision = nullptr;
    MPI_Count count = -1, other_count = -1;
    MPI_Datatype datatype{}, other_datatype{};
    MPI_Op op{};
    int root = -1;
    Combiner combiner{};
    // allgatherv: what its arrays were.
    std::vector<std::ptrdiff_t> counts = {}, places = {};
};

class Serving {
public:
    // All but the segment's address and the rank: agreed on by all ranks.
    Serving(Segment, int rank, int size, bool single_copy, int ranks_on_node, int cores);
    ~Serving();

    const Decision& decide(Kind&&);
    // allgatherv with these lengths: a program may have ever new ones, and what was made for
    // others gives way.
    const Decision& decide(const std::vector<std::size_t>& blocks);

    LastCall& last(Operation operation) { return last_[static_cast<std::size_t>(operation)]; }

private:
    Segment segment_;  // before the group that lives in it

public:
    Group group;
    Workspace workspace;
    const int rank, size;

private:
    void make(const Kind&, Decision&);

    struct Recent {
        Kind kind;
        Decision decision;
    };
    std::unordered_map<Kind, std::unique_ptr<Decision>, KindHash> decisions_;
    std::vector<Recent> recent_;  // by their hash; empty until the first allgatherv
    Problem problem_;             // of the decision that is made; its memory is used again
    std::vector<LastCall> last_;
};

// Shared memory that this process may still reserve (FANLIGHT_SHARED_MEMORY).
namespace budget {
bool take(std::size_t bytes);
void give_back(std::size_t bytes);
}  // namespace budget

}  // namespace fanlight

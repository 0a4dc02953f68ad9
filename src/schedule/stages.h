// Who meets whom on the way up the levels of a topology: in stage 0 the ranks of each innermost domain, then one
// representative of each of these, and so on; in the last stage those of the outermost domains.
//
//     2x2x2     01 23 45 67  ->  0,2  4,6  ->  0,4
#pragma once

#include <vector>

#include "schedule/composer.h"
#include "schedule/problem.h"
#include "schedule/topology.h"

namespace fanlight {

// All ranks in the order of their places in a topology: those of a domain follow each other.
std::vector<int> in_order_of_places(const Topology&, int ranks);

class Stages {
public:
    using Groups = std::vector<Composer::Group>;

    Stages() = default;
    // A domain is represented by the root, where it has it, else by its first rank, or by its last one.
    Stages(Topology, int ranks, int root, bool by_last);
    // Of an operation without an order of its own.
    explicit Stages(const Problem& p) : Stages(p.topology.simplified(), p.size, has_root(p.operation) ? p.root : -1, false) {}

    const Topology& topology() const { return topology_; }
    const std::vector<Groups>& all() const { return stages_; }
    std::size_t last() const { return stages_.size() - 1; }
    const std::vector<int>& order() const { return order_; }
    // Whether this rank is that domain's representative in some stage but the last: all ranks of the greatest such
    // domain; else itself alone.
    std::vector<int> stands_for(int rank) const;

private:
    Topology topology_;
    std::vector<Groups> stages_;
    std::vector<int> order_;
};

}  // namespace fanlight

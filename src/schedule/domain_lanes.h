// The lanes between the outermost domains of a topology: the ranks that have the same place in their domains.
#pragma once

#include <cstddef>

#include "schedule/problem.h"
#include "schedule/topology.h"

namespace fanlight {

class DomainLanes {
public:
    explicit DomainLanes(const Problem& problem) : topology_(problem.topology.simplified()), rank_(problem.rank) {}

    // Domains of different sizes have none.
    bool exist() const { return topology_.levels() > 0 && topology_.level(0).even(); }
    int domains() const { return outermost().count(); }
    int lanes() const { return outermost().sizes().first; }
    int domain(int rank) const { return outermost().of(rank); }
    int lane(int rank) const { return outermost().local(rank); }
    int own_domain() const { return domain(rank_); }
    int own_lane() const { return lane(rank_); }
    int rank(int domain, int lane) const { return outermost().members(domain)[static_cast<std::size_t>(lane)]; }
    // Of all ranks, those of a lane behind those of the lanes before.
    std::size_t place(int domain, int lane) const { return static_cast<std::size_t>(lane * domains() + domain); }

private:
    const Domains& outermost() const { return topology_.level(0); }

    Topology topology_;
    int rank_;
};

// alltoallv: what the rank of this one's domain in a lane has for this one's lane in a domain; of what is its own, with its
// place in the input.
inline Block passed_on(const Problem& p, const DomainLanes& lanes, int domain, int lane) {
    const int to = lanes.rank(domain, lanes.own_lane());
    if (lane == lanes.own_lane()) return p.send(to);
    return {0, length_between(p, lanes.rank(lanes.own_domain(), lane), to)};
}

}  // namespace fanlight

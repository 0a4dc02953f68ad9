#include "schedule/stages.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fanlight {

std::vector<int> in_order_of_places(const Topology& topology, int ranks) {
    std::vector<int> order(static_cast<std::size_t>(ranks)), sorted(order.size());
    std::iota(order.begin(), order.end(), 0);
    // By the domains of each level, from the innermost to the outermost; where two ranks share one they stay in their order.
    for (int level = topology.levels(); level-- > 0;) {
        const Domains& domains = topology.level(level);
        std::vector<std::size_t> next(static_cast<std::size_t>(domains.count()), 0);
        for (std::size_t d = 1; d < next.size(); ++d) next[d] = next[d - 1] + domains.members(static_cast<int>(d) - 1).size();
        for (const int r : order) sorted[next[static_cast<std::size_t>(domains.of(r))]++] = r;
        order.swap(sorted);
    }
    return order;
}

Stages::Stages(Topology topology, int ranks, int root, bool by_last) : topology_(std::move(topology)), order_(in_order_of_places(topology_, ranks)) {
    std::vector<int> representatives = order_;
    const auto meet = [&](auto&& share) {
        Groups& groups = stages_.emplace_back();
        std::vector<int> next;
        for (auto first = representatives.begin(); first != representatives.end();) {
            const auto behind = std::find_if_not(first, representatives.end(), [&](int r) { return share(*first, r); });
            const auto with_root = by_last ? behind - 1 : std::find(first, behind, root);
            Composer::Group& group = groups.emplace_back();
            group.ranks.assign(first, behind);
            if (with_root != behind) group.root = static_cast<int>(with_root - first);
            next.push_back(group.ranks[static_cast<std::size_t>(group.root)]);
            first = behind;
        }
        representatives = std::move(next);
    };
    for (int level = topology_.levels() - 1; level >= 0; --level) meet([&](int a, int b) { return topology_.level(level).share(a, b); });
    meet([](int, int) { return true; });
}

std::vector<int> Stages::stands_for(int rank) const {
    for (std::size_t s = last(); s-- > 0;)
        for (const Composer::Group& group : stages_[s]) {
            if (group.ranks[static_cast<std::size_t>(group.root)] != rank) continue;
            const Domains& domains = topology_.level(static_cast<int>(last() - 1 - s));
            const auto members = domains.members(domains.of(rank));
            return {members.begin(), members.end()};
        }
    return {rank};
}

}  // namespace fanlight

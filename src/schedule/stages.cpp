#include "schedule/stages.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fanlight {

Stages::Stages(Topology topology, int ranks, int root, bool by_last) : topology_(std::move(topology)), order_(static_cast<std::size_t>(ranks)) {
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::stable_sort(order_, [&](int a, int b) {
        for (const Domains& d : topology_.all())
            if (!d.share(a, b)) return d.of(a) < d.of(b);
        return false;
    });

    std::vector<int> representatives = order_;
    const auto meet = [&](const Domains& domains) {
        Groups groups;
        for (const int r : representatives) {
            if (groups.empty() || !domains.share(groups.back().ranks.front(), r)) groups.emplace_back();
            Composer::Group& group = groups.back();
            if (by_last || r == root) group.root = static_cast<int>(group.ranks.size());
            group.ranks.push_back(r);
        }
        representatives.clear();
        for (const Composer::Group& group : groups) representatives.push_back(group.ranks[static_cast<std::size_t>(group.root)]);
        stages_.push_back(std::move(groups));
    };
    for (int level = topology_.levels() - 1; level >= 0; --level) meet(topology_.level(level));
    meet(Domains(std::vector<int>(static_cast<std::size_t>(ranks), 0)));
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

#include "topology/location.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace fanlight {

Location location_of(const Cpus& own, const std::filesystem::path& system) {
    Location location;
    if (own.empty()) return location;
    const auto put = [&](int kind, const Cpus& cpus) {
        if (std::ranges::includes(cpus, own)) location.parts[static_cast<std::size_t>(kind)] = {cpus.front(), static_cast<int>(cpus.size())};
    };
    put(Location::numa, numa_of(own.front(), system));
    put(Location::package, package_of(own.front(), system));
    for (const Cache& cache : read_caches(own.front(), system))
        if (cache.level <= 3) put(Location::cache(cache.level), cache.cpus);
    return location;
}

namespace {

// From the largest to the smallest; of one size the NUMA domain is outside, then the package, then the
// caches by level.
std::vector<std::size_t> kinds_on(int node, std::span<const Location> locations) {
    std::array<int, Location::kinds> largest{};
    std::vector<std::size_t> kinds(Location::kinds);
    std::iota(kinds.begin(), kinds.end(), 0);
    for (const Location& p : locations) {
        if (p.node != node) continue;
        for (std::size_t k = 0; k < Location::kinds; ++k) largest[k] = std::max(largest[k], p.parts[k].cpus);
        std::erase_if(kinds, [&](std::size_t k) { return p.parts[k].first < 0; });
    }
    std::ranges::stable_sort(kinds, std::ranges::greater{}, [&](std::size_t k) { return largest[k]; });
    return kinds;
}

}  // namespace

Topology topology_of(std::span<const Location> locations) {
    std::map<int, std::vector<std::size_t>> kinds;  // by node
    for (const Location& p : locations)
        if (!kinds.contains(p.node)) kinds[p.node] = kinds_on(p.node, locations);

    std::vector<int> domain;
    for (const Location& p : locations) domain.push_back(p.node);
    std::vector<Domains> levels{Domains(domain)};
    for (std::size_t i = 0; i < Location::kinds; ++i) {
        std::map<std::pair<int, int>, int> inside;  // a number for each part of each domain of the level above
        for (std::size_t r = 0; r < locations.size(); ++r) {
            const std::vector<std::size_t>& here = kinds[locations[r].node];
            const int part = i < here.size() ? locations[r].parts[here[i]].first : 0;
            domain[r] = inside.try_emplace({domain[r], part}, static_cast<int>(inside.size())).first->second;
        }
        if (Domains next(domain); next != levels.back()) levels.push_back(std::move(next));
    }
    return Topology(std::move(levels));
}

}  // namespace fanlight

// Where the ranks of a communicator are: what each publishes, and the topology that all make of it.
#pragma once

#include <array>
#include <filesystem>
#include <span>

#include "schedule/topology.h"
#include "topology/machine.h"

namespace fanlight {

// What a process cannot leave, by kind: the NUMA domain, the package, and the caches of levels 3, 2, 1.
struct Location {
    struct Part {
        int first = -1;  // its first CPU; -1: the process may run in several, or the files do not say
        int cpus = 0;
    };
    static constexpr int numa = 0, package = 1, kinds = 5;
    static constexpr int cache(int level) { return kinds - level; }

    int node = 0;
    std::array<Part, kinds> parts;
};

// Of a process that may run on these CPUs; not the node.
Location location_of(const Cpus& own, const std::filesystem::path& system = system_files);

// Nodes, and in each of them its parts by their sizes: a package may have several NUMA domains, a NUMA
// domain several packages.  A kind of which one of the node's ranks is in no one part is left out there.
Topology topology_of(std::span<const Location> locations);

}  // namespace fanlight

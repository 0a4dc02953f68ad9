// The simulated network; the simulator asks for it when it starts.  SIMULATED_NETWORK has its shape and what it can do:
//
//   torus 8,8,8; bandwidth=10e9 latency=3e-7 memory=120e9
//
//   torus      A,B,C       nodes in each dimension
//   fat-tree   A,B;C,D     below a switch of each level, the innermost first; so many switches of the next level above each
//   dragonfly  A,B;C,D;E,F;G   groups, chassis in a group, routers in a chassis, and cables between two of each; nodes of a router
//
// bandwidth, in each direction, and latency of a cable; memory: what the messages inside a node share; in bytes per
// second, and seconds.  Nodes are called 0, 1, ...
#include <simgrid/s4u.hpp>

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;

struct Network {
    std::string kind;
    std::vector<std::vector<unsigned int>> shape;  // between semicolons, and between commas
    double bandwidth = 0, latency = 0, memory = 0;

    explicit Network(const std::string& text) {
        std::istringstream in(text);
        std::string numbers, fact;
        in >> kind >> numbers;
        std::istringstream lists(numbers);
        for (std::string list; std::getline(lists, list, ';');) {
            shape.emplace_back();
            std::istringstream all(list);
            for (std::string one; std::getline(all, one, ',');) shape.back().push_back(static_cast<unsigned int>(std::stoul(one)));
        }
        while (in >> fact) {
            const std::string name = fact.substr(0, fact.find('='));
            double& to = name == "bandwidth" ? bandwidth : name == "latency" ? latency : memory;
            to = std::stod(fact.substr(name.size() + 1));
        }
    }
    const std::vector<unsigned int>& list(std::size_t i, std::size_t length) const {
        if (i >= shape.size() || shape[i].size() != length) throw std::invalid_argument("SIMULATED_NETWORK: the shape of a " + kind);
        return shape[i];
    }
};

sg::NetZone* make(const Network& n) {
    const auto host = [](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
        return std::pair<NetPoint*, NetPoint*>(zone->create_host(std::to_string(id), 1e9)->seal()->get_netpoint(), nullptr);
    };
    sg::ClusterCallbacks nodes{std::function<sg::ClusterCallbacks::ClusterNetPointCb>(host)};
    nodes.loopback = [&n](sg::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
        return zone->create_link("memory" + std::to_string(id), n.memory)->set_latency(1e-7)->seal();
    };
    constexpr auto both_ways = sg::Link::SharingPolicy::SPLITDUPLEX;
    if (n.kind == "torus")
        return sg::create_torus_zone("network", nullptr, {n.shape.at(0).begin(), n.shape.at(0).end()}, nodes, n.bandwidth, n.latency, both_ways);
    if (n.kind == "fat-tree") {
        const auto levels = static_cast<unsigned int>(n.shape.at(0).size());
        return sg::create_fatTree_zone("network", nullptr, {levels, n.list(0, levels), n.list(1, levels), std::vector<unsigned int>(levels, 1)}, nodes, n.bandwidth, n.latency, both_ways);
    }
    if (n.kind == "dragonfly") {
        const auto pair = [&](std::size_t i) { return std::make_pair(n.list(i, 2)[0], n.list(i, 2)[1]); };
        return sg::create_dragonfly_zone("network", nullptr, {pair(0), pair(1), pair(2), n.list(3, 1)[0]}, nodes, n.bandwidth, n.latency, both_ways);
    }
    throw std::invalid_argument("SIMULATED_NETWORK: no " + n.kind + "; there are torus, fat-tree and dragonfly");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void load_platform(const sg::Engine&) {
    const char* const text = std::getenv("SIMULATED_NETWORK");
    static const Network network(text ? text : "");
    make(network)->seal();
}

// A machine as the cost model sees it: nested domains, the time to pass a cache line between two of their cores, and the
// bandwidth that the cores of a domain share.  It is text, so anybody can write one:
//
//     # What it is, and where its numbers come from.
//     ranks  step=20ns reader=12ns gather=4          a step; each further reader of one line; how many lines a core
//                                                    can have in flight at a time
//            begin=0.1us                             what a call takes before its first step
//            call=0.5us copied=10G                   if a system call copies bytes that are copied once: its time, and
//                                                    bytes per second; not given: a peer's memory is mapped
//     node     *  latency=1.5us overhead=0.3us link=12G eager=8K
//     socket   2  hop=267ns link=70G
//     numa     4  hop=135ns away=271ns memory=40G
//     l3       4  hop=101ns away=271ns bandwidth=36G size=16M
//     core     4  hop=25ns  bandwidth=20G size=512K
//
// Levels from the outside to the inside, each with the number of domains in one of the level before (*: any number):
//     hop         one line, one way, between two domains of this level inside the same outer one
//     away        the same if the line's page is in the memory of neither one's outermost domain of the node
//     bandwidth   bytes per second that all cores of one domain move together (of `core`: one of them)
//     link        bytes per second in, and out, between one domain and the others of its level
//     memory      bytes per second that its memory delivers; of `core`: that it moves of what its own cache does not hold
//     size        of the cache that the domain shares
//     latency, overhead, link, eager of `node`: LogGP's L, o and 1 / G of the network; messages longer than `eager` wait
//                 for their receiver
// ns, us and ms; bytes in K and M (powers of 1024), bytes per second in G (powers of 1000).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/topology.h"

namespace fanlight {

struct Machine {
    struct Level {
        std::string name;
        int count = 0;  // 0: any number
        double hop = 0, away = 0;                    // seconds; away 0: as hop
        double bandwidth = 0, link = 0, memory = 0;  // 0: no limit
        double size = 0;                             // 0: no cache
        double latency = 0, overhead = 0, eager = 0;
    };
    std::string name, about;
    std::vector<Level> levels;  // levels[0]: nodes; the last: cores
    double step = 0, reader = 0, begin = 0, call = 0, copied = 0;
    double gather = 1;

    // Throws std::invalid_argument that names the line and what is wrong.
    static Machine from(std::string_view name, std::string_view text);
    std::size_t cores() const { return levels.size() - 1; }
    // Of a node; 0: any number.
    long cores_of_node() const;
    // What its memory delivers, or where that has no limit its cores move together; 0: any number.
    double memory_of_node() const;
};

// Where each rank of a collective is on a machine: the ranks of each node in the order of its cores.
class Placement {
public:
    // On so many nodes, as evenly as can be; 0: on as few as hold them.  Throws std::invalid_argument where they do
    // not fit.
    Placement(const Machine&, int ranks, int nodes = 0);
    // On the nodes that a map says.
    Placement(const Machine&, const Domains& nodes);

    int ranks() const { return static_cast<int>(node_.size()); }
    // A number that it shares with the ranks of its domain of the level, on this or on no other node.
    int domain(std::size_t level, int rank) const { return domain_[level][static_cast<std::size_t>(rank)]; }
    int domains(std::size_t level) const { return count_[level]; }
    // The outermost level on which two ranks are apart.
    std::size_t apart(int rank, int other) const;
    // Of the levels of the machine whose numbers are given; none: of all.
    Topology topology(const std::vector<std::size_t>& levels) const;
    Topology topology() const;

private:
    void place(const Machine&);

    std::vector<int> node_;
    std::vector<std::vector<int>> domain_;
    std::vector<int> count_;
};

// Those that come with Fanlight (src/model/machines): name and text.
std::vector<std::pair<std::string_view, std::string_view>> machines();
// One of them; throws std::invalid_argument that lists all.
Machine machine_named(std::string_view name);

// What an algorithm by levels may be told of where the ranks are: all choices among the machine's levels, and the
// halving of all; each with its radices, from the inside to the outside ("16·4·2").
struct Radices {
    std::string topology, radices;
};
std::vector<Radices> topologies(const Machine&, const Placement&);

}  // namespace fanlight

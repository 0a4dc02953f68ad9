// Which ranks of a communicator share a node.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace fanlight {

// Nodes are numbered in the order of their lowest ranks.
class NodeMap {
public:
    NodeMap() = default;
    // For each rank a number that the ranks of its node, and no others, have.
    explicit NodeMap(std::span<const int> node_of);

    int ranks() const { return static_cast<int>(node_.size()); }
    int nodes() const { return static_cast<int>(members_.size()); }
    int node(int rank) const { return node_[static_cast<std::size_t>(rank)]; }
    // Its place among its node's members.
    int local(int rank) const { return local_[static_cast<std::size_t>(rank)]; }
    // In ascending order; the first one is the node's leader.
    std::span<const int> members(int node) const { return members_[static_cast<std::size_t>(node)]; }
    int leader(int node) const { return members(node).front(); }
    // Whether the ranks of every node follow each other: then what is in the order of the nodes
    // is in the order of the ranks.
    bool blocked() const;
    // Whether all nodes have the same number of ranks.
    bool even() const;

private:
    std::vector<int> node_, local_;
    std::vector<std::vector<int>> members_;
};

// FANLIGHT_NODES, to try on one machine what runs between nodes: "blocks:2" are two nodes, the
// lower half of the ranks on the first; "cyclic:2" deals the ranks to them in turn.  Empty for
// an empty text; throws std::invalid_argument for one that is neither.
std::vector<int> pretended_nodes(const std::string& text, int ranks);

}  // namespace fanlight

#include "topology/nodes.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace fanlight {

NodeMap::NodeMap(std::span<const int> node_of) {
    std::vector<int> seen;
    for (std::size_t r = 0; r < node_of.size(); ++r) {
        const auto found = std::find(seen.begin(), seen.end(), node_of[r]);
        const auto node = static_cast<std::size_t>(found - seen.begin());
        if (found == seen.end()) {
            seen.push_back(node_of[r]);
            members_.emplace_back();
        }
        node_.push_back(static_cast<int>(node));
        local_.push_back(static_cast<int>(members_[node].size()));
        members_[node].push_back(static_cast<int>(r));
    }
}

bool NodeMap::blocked() const { return std::is_sorted(node_.begin(), node_.end()); }

bool NodeMap::even() const {
    return std::all_of(members_.begin(), members_.end(),
                       [&](const auto& m) { return m.size() == members_.front().size(); });
}

std::vector<int> pretended_nodes(const std::string& text, int ranks) {
    if (text.empty()) return {};
    const bool blocks = text.starts_with("blocks:"), cyclic = text.starts_with("cyclic:");
    int nodes = 0;
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data() + 7, end, nodes);
    if (!(blocks || cyclic) || number.ec != std::errc{} || number.ptr != end || nodes < 1)
        throw std::invalid_argument("FANLIGHT_NODES=" + text + ": expected blocks:N or cyclic:N");
    nodes = std::min(nodes, ranks);
    std::vector<int> result;
    for (int r = 0; r < ranks; ++r) result.push_back(blocks ? static_cast<int>(static_cast<long>(r) * nodes / ranks) : r % nodes);
    return result;
}

}  // namespace fanlight

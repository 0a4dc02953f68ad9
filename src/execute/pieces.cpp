// Problems that are cut into pieces.
#include <algorithm>

#include "execute/plan.h"

namespace fanlight {

std::size_t length_of(const Problem& p) {
    std::size_t longest = p.bytes;
    for (const auto* blocks : {&p.blocks, &p.sends})
        for (const Block& b : *blocks) longest = std::max(longest, b.bytes);
    return longest;
}

std::size_t total_bytes(const Problem& p) {
    switch (family_of(p.operation)) {
        case Family::signal: return 0;
        case Family::vector: return p.bytes;
        case Family::blocks: return p.bytes * static_cast<std::size_t>(p.size);
        case Family::blocks_v:
        case Family::neighbors: break;
    }
    std::size_t total = 0;
    for (const Block& b : p.blocks) total += b.bytes;
    for (const Edge& e : p.edges)
        if (e.to == p.rank) total += e.bytes;
    return total;
}

namespace {

// Two ranks, each of which knows its own blocks alone: the mean of those that go between them.
std::size_t bytes_between_two(const Problem& p) {
    const int other = 1 - p.rank;
    if (has_root(p.operation)) return p.blocks[static_cast<std::size_t>(1 - p.root)].bytes;
    if (p.operation == Operation::alltoallv) return (p.send(other).bytes + p.block(other).bytes) / 2;
    std::size_t total = 0, edges = 0;
    for (const Edge& e : p.edges)
        if (e.from != e.to) total += e.bytes, ++edges;
    return edges == 0 ? 0 : total / edges;
}

}  // namespace

std::size_t known_bytes(const Problem& p) {
    if (!length_is_known(p.operation, p.size)) return 0;
    if (p.blocks.empty() && p.edges.empty()) return p.bytes;
    return lengths_are_unknown(p.operation) ? bytes_between_two(p) : total_bytes(p) / static_cast<std::size_t>(p.size);
}

Problem piece_of(const Problem& p, std::size_t piece_bytes, std::size_t index) {
    Problem piece = p;
    const std::size_t begin = index * piece_bytes;
    const auto cut = [&](std::size_t bytes) {
        return bytes <= begin ? 0 : std::min(piece_bytes, bytes - begin);
    };
    piece.bytes = cut(p.bytes);
    if (family_of(p.operation) == Family::blocks && p.stride == 0) piece.stride = p.bytes;
    for (auto* blocks : {&piece.blocks, &piece.sends})
        for (Block& b : *blocks) b.bytes = cut(b.bytes);
    return piece;
}

std::vector<Pieces> pieces_of(const Problem& p, std::size_t piece_bytes) {
    // Where the vector or a block ends, the piece that it ends in is shorter, and those behind it.
    std::vector<std::size_t> firsts{0};
    const auto ends = [&](std::size_t bytes) {
        if (bytes > 0) firsts.insert(firsts.end(), {bytes / piece_bytes, (bytes + piece_bytes - 1) / piece_bytes});
    };
    ends(p.bytes);
    for (const auto* blocks : {&p.blocks, &p.sends})
        for (const Block& b : *blocks) ends(b.bytes);
    std::ranges::sort(firsts);
    firsts.erase(std::ranges::unique(firsts).begin(), firsts.end());
    std::vector<Pieces> pieces;  // the last of `firsts` is behind the end
    for (std::size_t i = 0; i + 1 < firsts.size(); ++i) pieces.push_back({firsts[i], firsts[i + 1] - firsts[i]});
    if (pieces.empty()) pieces.push_back({0, 1});
    return pieces;
}

}  // namespace fanlight

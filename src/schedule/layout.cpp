#include "schedule/layout.h"

#include <algorithm>
#include <span>
#include <utility>

namespace fanlight::symbolic {
namespace {

Ranges vector_of(std::size_t bytes) {
    if (bytes == 0) return {};
    return {{0, bytes}};
}

std::size_t ranks(const Problem& whole) { return static_cast<std::size_t>(whole.size); }

// Rank r's list of the P lists that the whole problem of an alltoallv has.
std::span<const Block> list_of(const Problem& whole, const std::vector<Block>& lists, int r) {
    return std::span(lists).subspan(static_cast<std::size_t>(r) * ranks(whole), ranks(whole));
}

Ranges joined(Ranges ranges) {
    const auto lower = [](const Range& a, const Range& b) { return a.begin < b.begin; };
    if (!std::is_sorted(ranges.begin(), ranges.end(), lower))
        std::sort(ranges.begin(), ranges.end(), lower);
    Ranges result;
    for (const Range& r : ranges) {
        if (!result.empty() && r.begin <= result.back().end)
            result.back().end = std::max(result.back().end, r.end);
        else
            result.push_back(r);
    }
    return result;
}

Ranges all_blocks(std::span<const Block> blocks) {
    Ranges ranges;
    for (const Block& b : blocks)
        if (b.bytes > 0) ranges.push_back({b.offset, b.offset + b.bytes});
    return joined(std::move(ranges));
}

Ranges all_blocks(const Problem& whole) {
    std::vector<Block> blocks;
    for (int r = 0; r < whole.size; ++r) blocks.push_back(whole.block(r));
    return all_blocks(blocks);
}

Ranges own_block(const Problem& whole, int rank) { return vector_of(whole.block(rank).bytes); }

// The ranges of the edges' blocks at this rank.
Ranges sent_blocks(const Problem& whole, int rank) {
    std::vector<Block> blocks;
    for (const Edge& e : whole.edges)
        if (e.from == rank) blocks.push_back({e.sent, e.bytes});
    return all_blocks(blocks);
}
Ranges taken_blocks(const Problem& whole, int rank) {
    std::vector<Block> blocks;
    for (const Edge& e : whole.edges)
        if (e.to == rank) blocks.push_back({e.taken, e.bytes});
    return all_blocks(blocks);
}

// From the first byte to the last: what lies between blocks may be read along with them.
Ranges with_gaps(const Ranges& ranges) {
    if (ranges.empty()) return {};
    return {{ranges.front().begin, ranges.back().end}};
}

bool is_rank(const Problem& whole, int r) { return r >= 0 && r < whole.size; }

Range range_of(const Block& b) { return {b.offset, b.offset + b.bytes}; }

}  // namespace

Ranges bytes_of_input(const Problem& whole, int rank) {
    const bool at_root = rank == whole.root;
    switch (whole.operation) {
        case Operation::barrier:
            return {};
        case Operation::bcast:
            return at_root ? vector_of(whole.bytes) : Ranges{};
        case Operation::reduce:
        case Operation::allreduce:
        case Operation::scan:
        case Operation::exscan:
            return vector_of(whole.bytes);
        case Operation::allgather:
        case Operation::allgatherv:
        case Operation::gather:
        case Operation::gatherv:
            return own_block(whole, rank);
        case Operation::scatter:
        case Operation::scatterv:
            return at_root ? all_blocks(whole) : Ranges{};
        case Operation::alltoall:
        case Operation::reduce_scatter_block:
        case Operation::reduce_scatter:
            return all_blocks(whole);
        case Operation::alltoallv:
            return all_blocks(list_of(whole, whole.sends, rank));
        case Operation::neighbor_allgather:
        case Operation::neighbor_alltoallv:
            return sent_blocks(whole, rank);
        case Operation::neighbor_alltoall:
            return with_gaps(sent_blocks(whole, rank));
    }
    return {};
}

Ranges bytes_of_output(const Problem& whole, int rank) {
    const bool at_root = rank == whole.root;
    switch (whole.operation) {
        case Operation::barrier:
            return {};
        case Operation::bcast:
        case Operation::allreduce:
        case Operation::scan:
            return vector_of(whole.bytes);
        case Operation::exscan:
            return rank == 0 ? Ranges{} : vector_of(whole.bytes);
        case Operation::reduce:
            return at_root ? vector_of(whole.bytes) : Ranges{};
        case Operation::allgather:
        case Operation::allgatherv:
        case Operation::alltoall:
            return all_blocks(whole);
        case Operation::gather:
        case Operation::gatherv:
            return at_root ? all_blocks(whole) : Ranges{};
        case Operation::scatter:
        case Operation::scatterv:
        case Operation::reduce_scatter_block:
        case Operation::reduce_scatter:
            return own_block(whole, rank);
        case Operation::alltoallv:
            return all_blocks(list_of(whole, whole.blocks, rank));
        case Operation::neighbor_allgather:
        case Operation::neighbor_alltoall:
        case Operation::neighbor_alltoallv:
            return taken_blocks(whole, rank);
    }
    return {};
}

std::string fault_of_blocks(const Problem& whole) {
    for (const Edge& e : whole.edges)
        if (!is_rank(whole, e.from) || !is_rank(whole, e.to))
            return "the problem has an edge from rank " + std::to_string(e.from) + " to rank " +
                   std::to_string(e.to) + " for " + std::to_string(whole.size) + " ranks";
    const bool exchange = whole.operation == Operation::alltoallv;
    const std::size_t lists = exchange ? ranks(whole) : 1;
    const auto wrong_number = [&](const std::vector<Block>& blocks) {
        return blocks.size() != lists * ranks(whole) && (exchange || !blocks.empty());
    };
    for (const auto* blocks : {&whole.blocks, &whole.sends})
        if (wrong_number(*blocks))
            return "the problem has " + std::to_string(blocks->size()) + " blocks for " +
                   std::to_string(whole.size) + " ranks";
    if (!exchange) return {};
    for (int from = 0; from < whole.size; ++from)
        for (int to = 0; to < whole.size; ++to) {
            const std::size_t sent = list_of(whole, whole.sends, from)[static_cast<std::size_t>(to)].bytes;
            const std::size_t taken = list_of(whole, whole.blocks, to)[static_cast<std::size_t>(from)].bytes;
            if (sent != taken)
                return "rank " + std::to_string(from) + " has " + std::to_string(sent) +
                       " bytes for rank " + std::to_string(to) + ", which expects " +
                       std::to_string(taken);
        }
    return {};
}

bool inside(const Ranges& ranges, Range range) {
    if (range.begin >= range.end) return range.begin == range.end;
    const auto it = std::upper_bound(ranges.begin(), ranges.end(), range.begin,
                                     [](std::size_t at, const Range& r) { return at < r.end; });
    return it != ranges.end() && it->begin <= range.begin && range.end <= it->end;
}

std::vector<Expected> expected_output(const Problem& whole, int rank) {
    const int size = whole.size;
    const bool at_root = rank == whole.root;
    const Range vector{0, whole.bytes};
    std::vector<Expected> result;
    switch (whole.operation) {
        case Operation::barrier:
            break;
        case Operation::bcast:
            result.push_back({vector, whole.root, whole.root + 1, 0});
            break;
        case Operation::reduce:
            if (at_root) result.push_back({vector, 0, size, 0});
            break;
        case Operation::allreduce:
            result.push_back({vector, 0, size, 0});
            break;
        case Operation::scan:
            result.push_back({vector, 0, rank + 1, 0});
            break;
        case Operation::exscan:
            if (rank > 0) result.push_back({vector, 0, rank, 0});
            break;
        case Operation::gather:
        case Operation::gatherv:
            if (!at_root) break;
            [[fallthrough]];
        case Operation::allgather:
        case Operation::allgatherv:
            for (int r = 0; r < size; ++r) result.push_back({range_of(whole.block(r)), r, r + 1, 0});
            break;
        case Operation::scatter:
        case Operation::scatterv:
            result.push_back({{0, whole.block(rank).bytes}, whole.root, whole.root + 1,
                              whole.block(rank).offset});
            break;
        case Operation::alltoall:
            for (int r = 0; r < size; ++r)
                result.push_back({range_of(whole.block(r)), r, r + 1, whole.block(rank).offset});
            break;
        case Operation::alltoallv: {
            const auto blocks = list_of(whole, whole.blocks, rank);
            for (int r = 0; r < size; ++r) {
                const Block& sent = list_of(whole, whole.sends, r)[static_cast<std::size_t>(rank)];
                result.push_back({range_of(blocks[static_cast<std::size_t>(r)]), r, r + 1, sent.offset});
            }
            break;
        }
        case Operation::neighbor_allgather:
        case Operation::neighbor_alltoall:
        case Operation::neighbor_alltoallv:
            for (const Edge& e : whole.edges)
                if (e.to == rank) result.push_back({{e.taken, e.taken + e.bytes}, e.from, e.from + 1, e.sent});
            break;
        case Operation::reduce_scatter_block:
        case Operation::reduce_scatter:
            result.push_back({{0, whole.block(rank).bytes}, 0, size, whole.block(rank).offset});
            break;
    }
    return result;
}

}  // namespace fanlight::symbolic

#include "schedule/layout.h"

#include <algorithm>

namespace fanlight::symbolic {
namespace {

Ranges vector_of(std::size_t bytes) {
    if (bytes == 0) return {};
    return {{0, bytes}};
}

Ranges all_blocks(const Problem& whole) {
    Ranges ranges;
    for (int r = 0; r < whole.size; ++r) {
        const Block b = whole.block(r);
        if (b.bytes > 0) ranges.push_back({b.offset, b.offset + b.bytes});
    }
    const auto lower = [](const Range& a, const Range& b) { return a.begin < b.begin; };
    if (!std::is_sorted(ranges.begin(), ranges.end(), lower))
        std::sort(ranges.begin(), ranges.end(), lower);
    Ranges joined;
    for (const Range& r : ranges) {
        if (!joined.empty() && r.begin <= joined.back().end)
            joined.back().end = std::max(joined.back().end, r.end);
        else
            joined.push_back(r);
    }
    return joined;
}

Ranges own_block(const Problem& whole, int rank) { return vector_of(whole.block(rank).bytes); }

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
            return all_blocks(whole);
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
            return own_block(whole, rank);
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
        case Operation::reduce_scatter_block:
            result.push_back({{0, whole.block(rank).bytes}, 0, size, whole.block(rank).offset});
            break;
    }
    return result;
}

}  // namespace fanlight::symbolic

#include "algorithms/blocks.h"

#include <algorithm>

namespace fanlight {

std::vector<BlockRun> runs(const Problem& problem, int first, int count) {
    std::vector<BlockRun> result;
    std::size_t packed = 0;
    int previous = -2;
    for (int i = 0; i < count; ++i) {
        const int rank = (first + i) % problem.size;
        const Block block = problem.block(rank);
        if (problem.contiguous_blocks() && rank == previous + 1) {
            result.back().bytes += block.bytes;
        } else {
            result.push_back({block.offset, packed, block.bytes});
        }
        packed += block.bytes;
        previous = rank;
    }
    return result;
}

std::size_t packed_offset(const Problem& problem, int r) {
    if (problem.blocks.empty()) return static_cast<std::size_t>(r) * problem.bytes;
    std::size_t bytes = 0;
    for (int i = 0; i < r; ++i) bytes += problem.block(i).bytes;
    return bytes;
}

std::vector<std::size_t> packed_offsets(const Problem& problem) {
    std::vector<std::size_t> result{0};
    for (int r = 0; r < problem.size; ++r) result.push_back(result.back() + problem.block(r).bytes);
    return result;
}

namespace {

// Whether all blocks lie side by side in rank order.
bool side_by_side(const Problem& problem) {
    if (problem.blocks.empty()) return problem.contiguous_blocks();
    for (int r = 1; r < problem.size; ++r)
        if (problem.block(r).offset != problem.block(r - 1).offset + problem.block(r - 1).bytes)
            return false;
    return true;
}

}  // namespace

namespace {

// Of most_offers the schedule may need some more.
constexpr int few_ranks = 4;
bool few(const Problem& problem) { return problem.size <= few_ranks; }

template <class BlockOf>
int offer_each(Builder& b, const Problem& problem, BlockOf block) {
    for (int r = 0; r < problem.size; ++r)
        if (r != problem.rank) b.offer_to(r, input(block(r).offset), block(r).bytes);
    return problem.size - 1;
}

}  // namespace

int offers_of_blocks(int ranks) { return ranks <= few_ranks ? ranks - 1 : 1; }

int offer_of_block(const Problem& problem, int owner, int r) {
    return !few(problem) ? 0 : r < owner ? r : r - 1;
}

int offer_parts(Builder& b, const Problem& problem) {
    if (few(problem)) return offer_each(b, problem, [&](int r) { return part(problem, r); });
    b.offer_to_all_others(input(), problem.bytes);
    return 1;
}

Address offered_block(const Problem& problem, int r) {
    return few(problem) || side_by_side(problem) ? input(problem.block(r).offset) : scratch(packed_offset(problem, r));
}

int offer_blocks(Builder& b, const Problem& problem) {
    if (few(problem)) return offer_each(b, problem, [&](int r) { return problem.block(r); });
    const std::size_t bytes = packed_offset(problem, problem.size);
    if (!side_by_side(problem)) {
        b.reserve(bytes);
        for (const BlockRun& run : runs(problem, 0, problem.size))
            b.copy(input(run.offset), scratch(run.packed), run.bytes);
        b.next_round();
    }
    b.offer_to_all_others(offered_block(problem, 0), bytes);
    return 1;
}

void put_blocks(Builder& b, const Problem& problem, int peer, Buffer buffer, int first, int count) {
    for (const BlockRun& run : runs(problem, first, count)) {
        const Address place{buffer, run.offset};
        b.put(peer, place, place, run.bytes);
    }
}

void arrive_blocks(Builder& b, const Problem& problem, int peer, Buffer buffer, int first,
                   int count) {
    for (const BlockRun& run : runs(problem, first, count))
        b.arrive(peer, {buffer, run.offset}, run.bytes);
}

Block parts(const Problem& problem, int first, int count) {
    const std::size_t element = std::max<std::size_t>(problem.element, 1);
    const std::size_t elements = problem.bytes / element;
    const auto size = static_cast<std::size_t>(problem.size);
    const auto start = [&](int i) {
        // The last part takes what is no whole element (a broadcast's vector may have some).
        if (i == problem.size) return problem.bytes;
        const auto n = static_cast<std::size_t>(i);
        // elements * n / size, without overflow
        return (elements / size * n + elements % size * n / size) * element;
    };
    return {start(first), start(first + count) - start(first)};
}

Block part(const Problem& problem, int i) { return parts(problem, i, 1); }

}  // namespace fanlight

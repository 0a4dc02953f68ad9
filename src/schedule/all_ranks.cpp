#include "schedule/all_ranks.h"

namespace fanlight {

Problem problem_at(const Problem& whole, int rank) {
    Problem problem = whole;
    problem.rank = rank;
    const bool lengths_at_root_alone =
        whole.operation == Operation::gatherv || whole.operation == Operation::scatterv;
    if (lengths_at_root_alone && rank != whole.root && !whole.blocks.empty()) {
        problem.blocks.assign(whole.blocks.size(), Block{});
        problem.blocks[static_cast<std::size_t>(rank)].bytes = whole.block(rank).bytes;
    }
    if (whole.operation == Operation::alltoallv) {
        const auto size = static_cast<std::ptrdiff_t>(whole.size);
        const auto list = [&](const std::vector<Block>& lists) {
            return std::vector<Block>(lists.begin() + rank * size, lists.begin() + (rank + 1) * size);
        };
        problem.sends = list(whole.sends);
        problem.blocks = list(whole.blocks);
    }
    return problem;
}

void set_exchange(Problem& whole, std::span<const std::size_t> lengths, std::size_t gap) {
    const auto size = static_cast<std::size_t>(whole.size);
    whole.sends.clear();
    whole.blocks.clear();
    for (std::size_t r = 0; r < size; ++r) {
        std::size_t sent = 0, taken = 0;
        for (std::size_t s = 0; s < size; ++s) {
            whole.sends.push_back({sent, lengths[r * size + s]});
            whole.blocks.push_back({taken, lengths[s * size + r]});
            sent += lengths[r * size + s] + gap;
            taken += lengths[s * size + r] + gap;
        }
    }
}

void lay_side_by_side(Problem& whole) {
    std::size_t offset = 0;
    for (Block& b : whole.blocks) {
        b.offset = offset;
        offset += b.bytes;
    }
}

std::vector<Schedule> schedules_of_all(Schedule (*algorithm)(const Problem&), const Problem& whole) {
    std::vector<Schedule> result;
    result.reserve(static_cast<std::size_t>(whole.size));
    for (int r = 0; r < whole.size; ++r) result.push_back(algorithm(problem_at(whole, r)));
    return result;
}

}  // namespace fanlight

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
    return problem;
}

std::vector<Schedule> schedules_of_all(Schedule (*algorithm)(const Problem&), const Problem& whole) {
    std::vector<Schedule> result;
    result.reserve(static_cast<std::size_t>(whole.size));
    for (int r = 0; r < whole.size; ++r) result.push_back(algorithm(problem_at(whole, r)));
    return result;
}

}  // namespace fanlight

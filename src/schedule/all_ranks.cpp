#include "schedule/all_ranks.h"

#include <utility>

#include "schedule/stages.h"

namespace fanlight {

Problem problem_at(const Problem& whole, int rank) {
    Problem problem = whole;
    problem.rank = rank;
    const bool lengths_at_root_alone =
        whole.operation == Operation::gatherv || whole.operation == Operation::scatterv;
    if (lengths_at_root_alone && rank != whole.root && !whole.blocks.empty()) {
        problem.blocks.assign(whole.blocks.size(), Block{});
        for (const int r : Stages(whole).stands_for(rank)) problem.blocks[static_cast<std::size_t>(r)].bytes = whole.block(r).bytes;
    }
    if (whole.operation == Operation::alltoallv) {
        const auto size = static_cast<std::ptrdiff_t>(whole.size);
        const auto list = [&](const std::vector<Block>& lists) {
            return std::vector<Block>(lists.begin() + rank * size, lists.begin() + (rank + 1) * size);
        };
        problem.sends = list(whole.sends);
        problem.blocks = list(whole.blocks);
        problem.passing.reserve(static_cast<std::size_t>((whole.size - 1) * (whole.size - 1)));
        for (int from = 0; from < whole.size; ++from)
            for (int to = 0; to < whole.size; ++to)
                if (from != rank && to != rank) problem.passing.push_back({from, to, whole.sends[static_cast<std::size_t>(from * whole.size + to)].bytes});
    }
    if (family_of(whole.operation) == Family::neighbors) {
        problem.edges.clear();
        for (Edge e : whole.edges) {
            if (e.from != rank && e.to != rank) continue;
            if (e.from != rank && whole.operation == Operation::neighbor_alltoallv) e.sent = 0;
            if (e.to != rank) e.taken = 0;
            problem.edges.push_back(e);
        }
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

void set_edges(Problem& whole, std::vector<Edge> edges, std::size_t gap) {
    std::vector<std::size_t> sent(static_cast<std::size_t>(whole.size), 0), taken = sent;
    for (Edge& e : edges) {
        if (whole.operation != Operation::neighbor_allgather)
            e.sent = std::exchange(sent[static_cast<std::size_t>(e.from)], sent[static_cast<std::size_t>(e.from)] + e.bytes + gap);
        e.taken = std::exchange(taken[static_cast<std::size_t>(e.to)], taken[static_cast<std::size_t>(e.to)] + e.bytes + gap);
    }
    whole.edges = std::move(edges);
}

void set_ring(Problem& whole, std::size_t bytes) {
    std::vector<Edge> edges;
    for (int r = 0; r < whole.size; ++r)
        for (int step : {whole.size - 1, 1}) edges.push_back({.from = r, .to = (r + step) % whole.size, .bytes = bytes});
    set_edges(whole, std::move(edges));
}

std::vector<Schedule> schedules_of_all(Schedule (*algorithm)(const Problem&), const Problem& whole) {
    std::vector<Schedule> result;
    result.reserve(static_cast<std::size_t>(whole.size));
    for (int r = 0; r < whole.size; ++r) result.push_back(algorithm(problem_at(whole, r)));
    return result;
}

}  // namespace fanlight

#include "model/epochs.h"

#include <algorithm>

namespace fanlight {
namespace {

// By dissemination: round k signals rank r + 2^k.
void add_fence(Schedule& s, int rank, int size) {
    for (int distance = 1; distance < size; distance *= 2) {
        s.steps.push_back({.kind = StepKind::put, .peer = (rank + distance) % size});
        s.steps.push_back({.kind = StepKind::arrive, .peer = (rank + size - distance) % size});
        s.end_round();
    }
}

Schedule without_steps(const Schedule& s) {
    Schedule copy = s;
    copy.steps.clear();
    copy.round_ends.clear();
    return copy;
}

}  // namespace

std::vector<Schedule> fenced(std::span<const Schedule> schedules) {
    std::vector<Schedule> result;
    std::size_t rounds = 0;
    for (const Schedule& s : schedules) rounds = std::max(rounds, s.rounds());
    const int size = static_cast<int>(schedules.size());
    for (int rank = 0; rank < size; ++rank) {
        const Schedule& s = schedules[static_cast<std::size_t>(rank)];
        Schedule& with = result.emplace_back(without_steps(s));
        for (std::size_t r = 0; r < rounds; ++r) {
            if (r < s.rounds()) with.steps.insert(with.steps.end(), s.round(r).begin(), s.round(r).end());
            with.end_round();
            add_fence(with, rank, size);
        }
    }
    return result;
}

std::vector<Schedule> one_by_one(std::span<const Schedule> schedules) {
    std::vector<Schedule> result;
    for (const Schedule& s : schedules) {
        Schedule& apart = result.emplace_back(without_steps(s));
        for (std::size_t r = 0; r < s.rounds(); ++r) {
            for (const Step& step : s.round(r)) {
                if (step.kind != StepKind::put) continue;
                apart.steps.push_back(step);
                apart.end_round();
            }
            for (const Step& step : s.round(r))
                if (step.kind != StepKind::put) apart.steps.push_back(step);
            apart.end_round();
        }
    }
    return result;
}

}  // namespace fanlight

#include "model/pieces.h"

#include <algorithm>

namespace fanlight {

std::vector<Schedule> in_a_row(std::span<const Schedule> schedules, int times) {
    std::vector<Schedule> result(schedules.begin(), schedules.end());
    for (std::size_t r = 0; r < schedules.size(); ++r) {
        const Schedule& one = schedules[r];
        Schedule& all = result[r];
        for (int i = 1; i < times; ++i) {
            const auto before = static_cast<std::uint32_t>(all.steps.size());
            for (Step s : one.steps) {
                // Each piece has offers of its own.
                if (s.kind == StepKind::offer) s.offer += i * one.offers;
                if (s.kind == StepKind::get) s.offer += i * schedules[static_cast<std::size_t>(s.peer)].offers;
                all.steps.push_back(s);
            }
            for (const std::uint32_t end : one.round_ends) all.round_ends.push_back(before + end);
        }
        all.offers *= times;
    }
    return result;
}

Simulation simulate(std::span<const Schedule> schedules, const Machine& machine, const Placement& places, const Transfer& transfer, bool spans) {
    if (transfer.pieces <= 1) return simulate_given(schedules, machine, places, transfer, spans);
    // Twice as many as it takes until each piece takes as long as the one before.
    constexpr double most = 8;
    const int some = static_cast<int>(std::clamp(transfer.pieces, 2.0, most)), half = some / 2;
    const Simulation first = simulate_given(in_a_row(schedules, half), machine, places, transfer, false);
    Simulation result = simulate_given(in_a_row(schedules, some), machine, places, transfer, spans);
    const double further = (transfer.pieces - some) / (some - half);
    for (std::size_t r = 0; r < result.finish.size(); ++r) result.finish[r] += further * (result.finish[r] - first.finish[r]);
    result.seconds = *std::ranges::max_element(result.finish);
    return result;
}

}  // namespace fanlight

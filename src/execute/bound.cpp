// What is done to a schedule's steps when all are bound.
#include <algorithm>
#include <utility>

#include "execute/plan.h"

namespace fanlight {

void gather_flags(BoundSchedule& bound) {
    constexpr std::size_t many = 16;
    const auto waits = [](const BoundStep& s) { return s.kind == BoundKind::arrive || s.kind == BoundKind::get; };
    const auto goes_on = [&](const BoundStep& s) { return waits(s) || s.kind == BoundKind::copy || s.kind == BoundKind::combine; };
    const std::vector<BoundStep>& all = bound.steps;
    if (static_cast<std::size_t>(std::ranges::count_if(all, waits)) < many) return;
    std::vector<BoundStep> steps;
    steps.reserve(all.size() + all.size() / many + 1);
    for (auto at = all.begin(); at != all.end();) {
        const auto end = goes_on(*at) ? std::find_if_not(at, all.end(), goes_on) : at + 1;
        const bool gathers = static_cast<std::size_t>(std::count_if(at, end, waits)) >= many;
        while (at != end) {
            auto next = gathers ? at : end;
            for (std::size_t n = 0; next != end && n < many; ++next) n += waits(*next);
            if (gathers) {
                BoundStep& gather = steps.emplace_back();
                gather.kind = BoundKind::gather;
                gather.peer = -1;
                gather.message = static_cast<std::uint32_t>(next - at);
            }
            steps.insert(steps.end(), at, next);
            at = next;
        }
    }
    bound.steps = std::move(steps);
}

void find_told(BoundSchedule& bound) {
    bound.sends_end = 0;
    bool waits = false, late = false;
    for (std::size_t i = 0; i < bound.steps.size(); ++i) {
        const BoundStep& s = bound.steps[i];
        const bool reads = s.kind == BoundKind::arrive || s.kind == BoundKind::get;
        waits |= reads || s.kind == BoundKind::await_bit || (s.kind == BoundKind::put && s.acknowledged) || s.place == Place::direct;
        const bool tells = s.kind == BoundKind::put || s.kind == BoundKind::offer || s.kind == BoundKind::set_bit ||
                           (s.kind == BoundKind::arrive && s.acknowledged) || s.place == Place::direct;
        if (!tells) continue;
        bound.sends_end = i + 1;
        late |= waits;
    }
    bound.sends_complete_first = !late;
    if (bound.steps.empty() || bound.steps.front().kind != BoundKind::begin) return;
    bound.sends_end = bound.steps.size();
    bound.sends_complete_first = false;
}

}  // namespace fanlight

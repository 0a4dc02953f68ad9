// Where a plan's cells and channels are in its group's memory, and how much of it the plan uses.
#include <algorithm>

#include "execute/plan.h"

namespace fanlight {

void connect(BoundSchedule& bound, int rank, const SharedSlots& slots) {
    for (BoundStep& s : bound.steps) {
        switch (s.kind) {
            case BoundKind::put:
            case BoundKind::settle:
                s.cell = slots.put_cell(rank, s.peer, s.message);
                s.channel = slots.channel(s.peer, rank);
                break;
            case BoundKind::arrive:
                s.cell = slots.put_cell(s.peer, rank, s.message);
                [[fallthrough]];
            case BoundKind::post: s.channel = slots.channel(rank, s.peer); break;
            case BoundKind::offer: s.cell = slots.offer_cell(rank, static_cast<int>(s.message)); break;
            case BoundKind::get: s.cell = slots.offer_cell(s.peer, static_cast<int>(s.message)); break;
            case BoundKind::set_bit: s.cell = slots.register_word(s.peer, rank); break;
            case BoundKind::await_bit: s.cell = slots.register_word(rank, s.peer); break;
            default: break;
        }
    }
}

SharedSlots::Lines lines_of(const Plan& plan) {
    SharedSlots::Lines lines;
    for (const Plan::Part& part : plan.parts)
        for (const BoundStep& s : part.schedule.steps) {
            const bool told = s.acknowledged || s.place == Place::direct || s.lendable;  // in the writer's part
            if (s.kind == BoundKind::arrive || (s.kind == BoundKind::put && told)) lines.here.push_back(s.peer);
            if (s.kind == BoundKind::put || (s.kind == BoundKind::arrive && told)) lines.there.push_back(s.peer);
        }
    for (std::vector<int>* peers : {&lines.here, &lines.there}) {
        std::ranges::sort(*peers);
        peers->erase(std::unique(peers->begin(), peers->end()), peers->end());
    }
    return lines;
}

SharedSlots::Extent extent_of(const Plan& plan) {
    // Of lengths that travel first all may follow.
    if (plan.parts.empty() || plan.lengths) return {};
    SharedSlots::Extent extent{static_cast<int>(lines_of(plan).here.size()), 0};
    for (const Plan::Part& part : plan.parts)
        for (const BoundStep& s : part.schedule.steps)
            if (s.kind == BoundKind::offer) extent.offers = std::max(extent.offers, static_cast<int>(s.message) + 1);
    return extent;
}

}  // namespace fanlight

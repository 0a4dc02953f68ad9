// One operation of a group at a time, which nobody advances but the one who asks for its end.
#include "execute/steps.h"

namespace fanlight {

// Each operation ends before the next one begins: they end in order, as those do that are waited
// for in place.
using Look = OneLook<true>;

bool Group::begin(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    if (!plan.offers_alone || sequence_ == 0) return begin_otherwise(run, plan, input, output, combiner);
    // The others wait for this; what is noted down for later comes after it.
    const BoundSchedule& schedule = plan.parts.front().schedule;
    const BoundStep& s = schedule.steps.front();
    if (all_done_ + lanes_.lanes() <= sequence_) [[unlikely]] {
        std::uint64_t sequence;
        if (!lane_is_free(schedule, sequence_, sequence, Look{run.waits_for})) return begin_otherwise(run, plan, input, output, combiner);
    }
    offer_inline(*reinterpret_cast<Cell*>(lanes_.lane(sequence_) + s.cell), s, static_cast<const std::byte*>(input) + s.from, lanes_.base(), sequence_);
    run.sequence_ = sequence_;
    prepare(run, plan, input, output, combiner);
    write_down(doing_ = run.taken_, plan.called);
    run.step_ = 1;
    return true;
}

bool Group::begin_otherwise(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    prepare(run, plan, input, output, combiner);
    if (!plan.tells_first) return false;
    const Look look{run.waits_for};
    const BoundSchedule& schedule = plan.parts.front().schedule;
    if (!lane_is_free(schedule, run.taken_, run.sequence_, look)) return false;
    write_down(doing_ = run.taken_, plan.called);
    // No further: to look at what others have not written yet would take the line away from them.
    return steps(schedule, {run.sequence_, {const_cast<std::byte*>(run.input_), run.output_, run.scratch_.data()}, &run.combiner_, plan.name.c_str()},
                 run.step_, schedule.told, look);
}

template <class Wait>
bool Group::rest(Run& run, const Wait& wait) {
    const BoundSchedule& schedule = run.plan_->parts.front().schedule;
    try {
        if (!steps(schedule, {run.sequence_, {const_cast<std::byte*>(run.input_), run.output_, run.scratch_.data()}, &run.combiner_, run.plan_->name.c_str()},
                   run.step_, schedule.steps.size(), wait))
            return false;
    } catch (const OutOfStep& e) {
        waiter_.fail(e.what());  // in some call of the program's
    }
    run.taken_ = run.end_;
    run.finished = true;
    told_done_ = sequence_;
    store(lanes_.member(rank_).done, sequence_);
    return true;
}

bool Group::look(Run& run) { return rest(run, Look{run.waits_for}); }

void Group::finish(Run& run) { rest(run, ToTheEnd{waiter_, run.plan_->name.c_str()}); }

}  // namespace fanlight

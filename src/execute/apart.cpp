// One operation of a group at a time, which nobody advances but the one who asks for its end.
#include "execute/steps.h"

namespace fanlight {

namespace {

// Each operation ends before the next one begins: they end in order, as those do that are waited
// for in place.
struct OneLook {
    static constexpr bool in_order = true;
    int& waits_for;
    template <class Ready>
    bool operator()(int peer, Ready&& ready) const {
        if (ready()) return true;
        waits_for = peer;
        return false;
    }
};

void prefetch_to_write(const void* p) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
    __builtin_prefetch(p, 1);
#endif
}

}  // namespace

bool Group::begin(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    prepare(run, plan, input, output, combiner);
    if (!plan.tells_first) [[unlikely]] return false;
    const OneLook look{run.waits_for};
    const BoundSchedule& schedule = plan.parts[0].schedule;
    if (!lane_is_free(schedule, run.taken_, run.sequence_, look)) [[unlikely]] return false;
    const BoundStep* const steps_ = schedule.steps.data();
    std::byte* const lane = lanes_.lane(run.sequence_);
    // The commonest beginning, as steps() has it, without what that prepares for others.
    if (schedule.told == 1 && steps_->kind == BoundKind::offer && steps_->place == Place::inlined && steps_->bytes > 0 && steps_->from_buffer == Buffer::input) [[likely]] {
        offer_inline(*reinterpret_cast<Cell*>(lane + steps_->cell), *steps_, run.input_ + steps_->from, lanes_.base(), run.sequence_);
        run.step_ = 1;
        if (run.scratch_.size() < schedule.scratch_bytes) run.scratch_.resize(schedule.scratch_bytes);
    } else {
        if (run.scratch_.size() < schedule.scratch_bytes) run.scratch_.resize(schedule.scratch_bytes);
        // No further: to look at what others have not written yet would take the line away from them.
        steps(schedule, {run.sequence_, {const_cast<std::byte*>(run.input_), run.output_, run.scratch_.data()}, &run.combiner_, nullptr},
              run.step_, schedule.told, look);
    }
    // The next one's cells, which others have read long ago, come back while this one waits.
    const std::byte* const next = lanes_.lane(run.sequence_ + 1);
    for (std::size_t i = 0; i < schedule.told; ++i) prefetch_to_write(next + steps_[i].cell);
    return true;
}

template <class Wait>
bool Group::rest(Run& run, const Wait& wait) {
    const BoundSchedule& schedule = run.plan_->parts[0].schedule;
    if (!steps(schedule, {run.sequence_, {const_cast<std::byte*>(run.input_), run.output_, run.scratch_.data()}, &run.combiner_, run.plan_->name.c_str()},
               run.step_, schedule.steps.size(), wait))
        return false;
    run.taken_ = run.end_;
    run.finished = true;
    tell_done();
    return true;
}

bool Group::look(Run& run) { return rest(run, OneLook{run.waits_for}); }

void Group::finish(Run& run) { rest(run, ToTheEnd{waiter_, run.plan_->name.c_str()}); }

}  // namespace fanlight

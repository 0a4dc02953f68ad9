// Several operations of a group under way at once.  They may end in any order; what the others
// are told is up to which number all are done.
#include "execute/steps.h"

namespace fanlight {

void Group::prepare(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    run.reserve(plan);
    if (sequence_ == 0) meet();
    run.plan_ = &plan;
    run.input_ = static_cast<const std::byte*>(input);
    run.output_ = static_cast<std::byte*>(output);
    if (combiner) run.combiner_ = *combiner;
    run.taken_ = sequence_;
    for (const Plan::Part& part : plan.parts)
        sequence_ = number(part.schedule, sequence_) + numbers(part.schedule) * part.repeat;
    run.end_ = sequence_;
    run.part_ = run.repeated_ = run.step_ = 0;
    run.read_by_others_ = run.finished = run.out_of_step = false;
}

void Group::start(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    prepare(run, plan, input, output, combiner);
    runs_.push_back(&run);
}

// Also in a thread that nobody listens to: what is wrong is said by the operations' ends.
template <class Act>
void Group::unless_out_of_step(Act&& act) {
    if (out_of_step_.empty()) {
        try {
            for (Run* run : runs_) act(*run);
            return;
        } catch (const OutOfStep&) {
        }
    }
    for (Run* run : runs_)
        if (!run->finished) run->finished = run->out_of_step = true;
}

void Group::compare_under_way() {
    unless_out_of_step([this](const Run& run) { compare_calls(run.taken_); });
}

bool Group::advance() {
    unless_out_of_step([this](Run& run) { advance(run); });
    std::erase_if(runs_, [](const Run* run) { return run->finished; });
    return !runs_.empty();
}

void Group::advance(Run& run) {
    const OneLook<false> look{run.waits_for};
    const char* name = run.plan_->name.c_str();
    while (!run.finished) {
        const Plan::Part& part = run.plan_->parts[run.part_];
        const BoundSchedule& schedule = part.schedule;
        if (!run.read_by_others_) {
            if (run.step_ == 0) {
                if (!lane_is_free(schedule, run.taken_, run.sequence_, look)) return;
                write_down(run.taken_, run.plan_->called);
            }
            if (!steps(schedule, {run.sequence_, {const_cast<std::byte*>(run.input_), run.output_, run.scratch_.data()}, &run.combiner_, name},
                       run.step_, schedule.steps.size(), look))
                return;
            run.taken_ = run.sequence_ + numbers(schedule);
            run.read_by_others_ = true;
            tell_done();
        }
        if (schedule.has_direct_offers && !was_read(schedule, run.sequence_, look)) return;
        run.read_by_others_ = false;
        run.step_ = 0;
        run.input_ += run.plan_->piece_bytes;
        run.output_ += run.plan_->piece_bytes;
        if (++run.repeated_ == part.repeat) {
            run.repeated_ = 0;
            run.finished = ++run.part_ == run.plan_->parts.size();
        }
    }
}

void Group::tell_done() {
    std::uint64_t done = sequence_;
    for (const Run* run : runs_)
        if (run->taken_ < run->end_) {
            done = run->taken_;
            break;
        }
    if (done == told_done_) return;
    told_done_ = done;
    store(lanes_.member(rank_).done, done);
}

}  // namespace fanlight

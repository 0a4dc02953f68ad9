// One operation of a group at a time, which nobody advances but the one who asks for its end.
#include "execute/group.h"
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
    if (!executor_.has_free_lane(sequence_)) [[unlikely]] {
        std::uint64_t sequence;
        if (!executor_.lane_is_free(schedule, sequence_, sequence, Look{run.waits_for})) return begin_otherwise(run, plan, input, output, combiner);
    }
    offer_inline(*reinterpret_cast<Cell*>(lanes_.lane(sequence_) + s.cell), s, static_cast<const std::byte*>(input) + s.from, lanes_.base(), sequence_);
    const std::uint64_t sequence = sequence_;
    prepare(run, plan, input, output, combiner);
    Run::Piece& piece = begin_piece(run);
    piece.sequence = sequence;
    piece.has_lane = true;
    executor_.lockstep.write_down(doing_ = piece.taken, plan.called);
    piece.step = 1;
    return true;
}

bool Group::begin_otherwise(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    prepare(run, plan, input, output, combiner);
    if (!plan.tells_first) return false;
    const Look look{run.waits_for};
    const BoundSchedule& schedule = plan.parts.front().schedule;
    Run::Piece& piece = begin_piece(run);
    if (!executor_.lane_is_free(schedule, piece.taken, piece.sequence, look)) return false;
    piece.has_lane = true;
    executor_.lockstep.write_down(doing_ = piece.taken, plan.called);
    // No further: to look at what others have not written yet would take the line away from them.
    return executor_.steps(schedule, Executor::Frame::of(run, piece), piece.step, schedule.told, look);
}

template <class Wait>
bool Group::rest(Run& run, const Wait& wait) {
    Run::Piece& piece = run.piece(0);
    try {
        if (!executor_.steps(*piece.schedule, Executor::Frame::of(run, piece), piece.step, piece.schedule->steps.size(), wait)) return false;
    } catch (const OutOfStep& e) {
        waiter().fail(e.what());  // in some call of the program's
    }
    piece.read_by_others = piece.over = run.finished = true;
    told_done_ = sequence_;
    executor_.tell_done(sequence_);
    return true;
}

bool Group::look(Run& run) { return rest(run, Look{run.waits_for}); }

void Group::finish(Run& run) { rest(run, ToTheEnd{waiter(), run.plan_->name.c_str()}); }

}  // namespace fanlight

// One operation of a group at a time, which only the caller that asks for its end advances.
#include "execute/group.h"
#include "execute/steps.h"

namespace fanlight {

// Each operation ends before the next one begins: they end in order, as those do that are waited
// for in place.
using Poll = OnePoll<true>;

bool Group::begin(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    enter(plan);
    run.reserve(plan);
    // The others wait for this; what is noted down for later comes after it.
    const Poll poll{run.waits_for};
    const BoundSchedule& schedule = plan.parts.front().schedule;
    Cursor cursor(plan);
    const bool begins = plan.sends_complete_first && executor_.slot_is_free(schedule, sequence_, cursor, poll);
    // No further than that: to look at what others have not written yet would take the line away from them.
    if (begins) {
        auto* const from = const_cast<std::byte*>(static_cast<const std::byte*>(input));
        const Executor::Frame frame{sequence_, {from, static_cast<std::byte*>(output), run.scratch()}, combiner, plan.name.c_str()};
        executor_.steps(schedule, frame, cursor, schedule.sends_end, poll);
    }
    prepare(run, plan, input, output, combiner);
    if (!begins) return false;
    Run::Piece& piece = begin_piece(run);
    piece.has_slot = true;
    piece.cursor = cursor;
    executor_.lockstep.record_call(doing_ = piece.sequence, plan.called);
    return cursor.step == schedule.sends_end;
}

template <class Wait>
bool Group::rest(Run& run, const Wait& wait) {
    Run::Piece& piece = run.piece(0);
    try {
        if (!executor_.steps(*piece.schedule, Executor::Frame::of(run, piece), piece.cursor, piece.schedule->steps.size(), wait)) return false;
    } catch (const MismatchedCollectives& e) {
        waiter().fail(e.what());  // in some call of the program's
    }
    piece.read_by_others = piece.over = run.finished = true;
    published_done_ = sequence_;
    executor_.publish_done(sequence_);
    return true;
}

bool Group::poll(Run& run) { return rest(run, Poll{run.waits_for}); }

void Group::finish(Run& run) { rest(run, ToTheEnd{waiter(), run.plan_->name.c_str()}); }

}  // namespace fanlight

// Several operations of a group in flight at once.  They may end in any order; a rank publishes the number up to which
// all are done.
#include <stdexcept>

#include "execute/group.h"
#include "execute/steps.h"

namespace fanlight {

void Group::enter(const Plan& plan) {
    if (!is_connected(plan)) [[unlikely]] throw std::logic_error(plan.name + " has no memory in its group");
    if (sequence_ == 0) executor_.meet();
}

void Group::prepare(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    run.reserve(plan);
    run.plan_ = &plan;
    run.input_ = static_cast<const std::byte*>(input);
    run.output_ = static_cast<std::byte*>(output);
    if (combiner) run.combiner_ = *combiner;
    run.taken_ = sequence_;
    run.first_message_slot_ = message_slots_;
    for (const Plan::Part& part : plan.parts) {
        sequence_ += part.repeat;
        message_slots_ += part.repeat;
    }
    run.end_ = sequence_;
    run.part_ = run.repeated_ = run.begun_ = run.over_ = 0;
    run.finished = run.mismatched = false;
}

Run::Piece& Group::begin_piece(Run& run) {
    const Plan::Part& part = run.plan_->parts[run.part_];
    Run::Piece& piece = run.piece(run.begun_);
    piece.schedule = &part.schedule;
    piece.input = run.input_;
    piece.output = run.output_;
    if (Plan::Lengths* const lengths = run.plan_->lengths.get(); lengths && run.part_ == 0) {
        piece.input = reinterpret_cast<const std::byte*>(lengths->told.data());
        piece.output = reinterpret_cast<std::byte*>(lengths->heard.data());
    } else if (lengths) {
        bind_blocks(*run.plan_);
        piece.schedule = &lengths->blocks;
        if (piece.scratch.size() < lengths->blocks.scratch_bytes) piece.scratch.resize(lengths->blocks.scratch_bytes);
    }
    piece.sequence = run.taken_++;
    piece.cursor = Cursor(*run.plan_);
    piece.has_slot = piece.read_by_others = piece.over = false;
    if (RemoteTransport* const remote = run.plan_->remote) piece.remote = remote->for_operation(run.first_message_slot_ + run.begun_);
    ++run.begun_;
    // A rank that has no part in it may have no buffers.
    const auto behind = [&](auto* buffer) {
        return reinterpret_cast<decltype(buffer)>(reinterpret_cast<std::uintptr_t>(buffer) + run.plan_->piece_bytes);
    };
    run.input_ = behind(run.input_);
    run.output_ = behind(run.output_);
    if (++run.repeated_ == part.repeat) {
        run.repeated_ = 0;
        ++run.part_;
    }
    return piece;
}

void Group::start(Run& run, const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    enter(plan);
    prepare(run, plan, input, output, combiner);
    runs_.push_back(&run);
}

// Also in a thread that nobody listens to: what is wrong is said by the operations' ends.
template <class Act>
void Group::unless_mismatched(Act&& act) {
    if (why_mismatched().empty()) {
        try {
            or_leave([&] {
                for (Run* run : runs_) act(*run);
            });
            return;
        } catch (const MismatchedCollectives&) {
        }
    }
    for (Run* run : runs_)
        if (!run->finished) run->finished = run->mismatched = true;
}

void Group::compare_in_flight() {
    unless_mismatched([this](Run& run) { executor_.lockstep.compare(run.done()); });
}

bool Group::advance() {
    unless_mismatched([this](Run& run) { advance(run); });
    std::erase_if(runs_, [](const Run* run) { return run->finished; });
    return !runs_.empty();
}

void Group::advance(Run& run) {
    for (bool ended = true; ended;) {
        while (run.part_ < run.plan_->parts.size() && run.begun_ - run.over_ < run.plan_->in_flight && has_message_slot(run)) begin_piece(run);
        for (std::uint64_t k = run.over_; k < run.begun_; ++k)
            if (!run.piece(k).over) advance(run, run.piece(k));
        ended = false;
        for (; run.over_ < run.begun_ && run.piece(run.over_).over; ++run.over_) ended = true;
        run.finished = run.over_ == run.begun_ && run.part_ == run.plan_->parts.size();
        if (run.finished) return;
    }
}

void Group::advance(Run& run, Run::Piece& piece) {
    const OnePoll<false> poll{run.waits_for};
    const BoundSchedule& schedule = *piece.schedule;
    if (!piece.read_by_others) {
        if (piece.cursor.step < schedule.ahead) executor_.steps(schedule, Executor::Frame::of(run, piece), piece.cursor, schedule.ahead, poll);
        if (!piece.has_slot) {
            if (!executor_.slot_is_free(schedule, piece.sequence, piece.cursor, poll)) return;
            executor_.lockstep.record_call(piece.sequence, run.plan_->called);
            piece.has_slot = true;
        }
        if (!executor_.steps(schedule, Executor::Frame::of(run, piece), piece.cursor, schedule.steps.size(), poll)) return;
        piece.read_by_others = true;
        count_lent(piece.cursor);
        publish_done();
    }
    const bool lends = piece.cursor.lent > 0;
    piece.over = (!lends && !schedule.has_direct_offers) || executor_.was_read(schedule, piece.sequence, lends, poll);
}

// Its messages would not be taken for those of an operation that is in flight.
bool Group::has_message_slot(const Run& run) const {
    const Run& oldest = *runs_.front();
    const RemoteTransport* const remote = run.plan_->remote;
    return !remote || run.first_message_slot_ + run.begun_ - (oldest.first_message_slot_ + oldest.over_) < remote->operations_in_flight();
}

// Waits for it in place.
void Group::run_in_flight(const Plan& plan, const void* input, void* output, const Combiner* combiner) {
    start(in_place_, plan, input, output, combiner);
    try {
        waiter()(-1, plan.name.c_str(), [&] {
            advance();
            doing_ = in_place_.done();
            return in_place_.finished;
        });
    } catch (const MismatchedCollectives&) {
        runs_.clear();
        throw;
    }
    if (in_place_.mismatched) executor_.lockstep.check();
}

void Group::publish_done() {
    std::uint64_t done = sequence_;
    for (Run* run : runs_)
        if (run->done() < run->end_) {
            done = run->done();
            break;
        }
    if (done == published_done_) return;
    published_done_ = done;
    executor_.publish_done(done);
}

}  // namespace fanlight

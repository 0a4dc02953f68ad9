// Takes over a plan for blocks of other lengths.  Otherwise a program whose counts change from call to call (spikes,
// particles) would pay for a new plan each time, as much as several short operations cost.
#include <algorithm>

#include "execute/called.h"
#include "execute/planner.h"

namespace fanlight {

namespace {

// Where a rank's own part of the problem lies: what it sends to a peer, what it takes from one.
Block sent(const Problem& p, int peer) {
    switch (p.operation) {
        case Operation::scatterv: return p.block(peer);
        case Operation::alltoallv: return p.send(peer);
        default: return {0, p.block(p.rank).bytes};
    }
}
Block taken(const Problem& p, int peer) {
    if (p.operation == Operation::scatterv) return {0, p.block(p.rank).bytes};
    return p.block(peer);
}

// What a step does with this rank's blocks.
struct Move {
    bool sends, takes;
    Block out, in;  // the one that it sends or copies, the one that it takes or copies
};
Move move_of(const Problem& p, const BoundStep& s) {
    const bool sends = s.kind == BoundKind::offer || s.kind == BoundKind::put;
    const bool takes = s.kind == BoundKind::get || s.kind == BoundKind::arrive;
    return {sends, takes, sent(p, sends ? s.peer : p.rank), taken(p, takes ? s.peer : p.rank)};
}

}  // namespace

// Each block goes by one step from its owner to who wants it: nothing but lengths and places depends
// on the lengths, as long as none is copied once or cut.
bool Planner::moves_blocks_whole(const Problem& p, const BoundSchedule& schedule) const {
    for (const BoundStep& s : schedule.steps) {
        if (s.kind == BoundKind::gather || s.kind == BoundKind::settle) continue;
        const auto [sends, takes, out, in] = move_of(p, s);
        const bool copies = s.kind == BoundKind::copy;
        if (!sends && !takes && !copies) return false;
        if (s.acknowledged || s.place == Place::direct) return false;
        if (s.kind == BoundKind::offer && s.readers + 1 != static_cast<std::uint32_t>(size_)) return false;
        if (s.kind == BoundKind::get && (s.from_buffer != Buffer::input || s.from != 0)) return false;
        if ((sends || copies) && (s.from_buffer != Buffer::input || s.from != out.offset)) return false;
        if ((takes || copies) && (s.to_buffer != Buffer::output || s.to != in.offset)) return false;
        if (s.bytes != (sends ? out : in).bytes) return false;
    }
    // An empty block must not stand for one that is never moved.
    const auto count = [&](auto&&... kinds) {
        return std::count_if(schedule.steps.begin(), schedule.steps.end(), [&](const BoundStep& s) { return ((s.kind == kinds) || ...); });
    };
    const bool is_root = p.rank == p.root, rooted = has_root(p.operation);
    const std::ptrdiff_t others = size_ - 1, from_root = is_root ? others : 0, to_root = is_root ? 0 : 1;
    const std::ptrdiff_t to_send = p.operation == Operation::gatherv ? to_root : p.operation == Operation::scatterv ? from_root : others;
    const std::ptrdiff_t to_take = p.operation == Operation::gatherv ? from_root : p.operation == Operation::scatterv ? to_root : others;
    // One who put a block to many would stage it as often.
    const bool offers = count(BoundKind::offer) > 0;
    if (p.operation == Operation::allgatherv && !offers) return false;
    return count(BoundKind::put) == (offers ? 0 : to_send) && count(BoundKind::get, BoundKind::arrive) == to_take &&
           count(BoundKind::offer) <= 1 && count(BoundKind::copy) == (rooted && !is_root ? 0 : 1);
}

bool Planner::rebind_counts(const Problem& p, Plan& plan) const {
    if (plan.lengths) {
        tell_lengths(p, *plan.lengths);
        return true;
    }
    if (plan.rebinds_counts_to == 0 || length_of(p) > plan.rebinds_counts_to) return false;
    plan.called = called(p);
    plan.sends_complete_first = false;
    plan.ways.reset();  // times of other lengths say nothing
    BoundSchedule& schedule = plan.parts.front().schedule;
    if (!plan.rebound) schedule = plan.moves;
    plan.rebound = true;
    schedule.steps.clear();
    std::size_t staged = 0;
    for (const BoundStep& move : plan.moves.steps) {
        // With empty blocks a gather would be of others.
        if (move.kind == BoundKind::gather || move.kind == BoundKind::settle) continue;
        const auto [sends, takes, out, in] = move_of(p, move);
        const std::size_t bytes = (sends ? out : in).bytes;
        // Nothing is neither offered nor read; a put of nothing is a signal.
        if (bytes == 0 && (move.kind == BoundKind::offer || move.kind == BoundKind::get)) continue;
        BoundStep& s = schedule.steps.emplace_back(move);
        s.bytes = bytes;
        if (!takes) s.from = out.offset;
        if (!sends) s.to = in.offset;
        s.tag = message_tag(s.message, plan.called);
        // What is put is staged: no step settles it.
        s.lendable = (takes || s.kind == BoundKind::offer) && bytes >= options_.lent_from;
        if (s.kind == BoundKind::get || s.kind == BoundKind::copy) continue;
        s.place = bytes <= shared_slots_.payload_bytes() ? Place::inlined : Place::staged;
        if (!sends || s.place != Place::staged) continue;
        // Each in its reader's area, or one behind the other in this rank's.
        s.staging = schedule.stages_at_reader ? 0 : staged;
        staged = std::max(staged, s.staging + whole_lines(bytes));
    }
    schedule.staged = staged;
    return true;
}

}  // namespace fanlight

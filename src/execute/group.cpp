#include "execute/group.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "config/config.h"
#include "execute/copy.h"
#include "execute/steps.h"
#include "schedule/builder.h"
#include "topology/cores.h"

namespace fanlight {

namespace {

// A piece that is staged: long enough to hide the flags; where one rank copies in and others copy
// out, short enough that the two overlap.  Where a rank does both, or copies a block of its own
// besides, less is gained by that; where ranks share a core nothing overlaps, and each piece costs
// a switch of contexts.
std::size_t default_piece(Operation operation, std::size_t length, bool oversubscribed) {
    constexpr std::size_t shortest = 32 * 1024, one_way_longest = 64 * 1024, longest = 128 * 1024;
    const bool one_way = operation == Operation::bcast || operation == Operation::scatter || operation == Operation::reduce;
    return one_way && !oversubscribed ? std::clamp(length / 4, shortest, one_way_longest) : longest;
}

}  // namespace

Group::Group(std::span<std::byte> segment, int rank, int size, bool single_copy, Waiter::Hooks hooks,
             int ranks_on_node, int cores, SharedLanes::Room room, std::span<std::byte> scratch)
    : rank_(rank),
      size_(size),
      single_copy_(single_copy || !scratch.empty()),
      mapped_scratch_(scratch),
      lanes_(segment.data(), size, room),
      waiter_(ranks_on_node > 0 ? ranks_on_node : size, std::move(hooks), cores),
      known_done_(static_cast<std::size_t>(size), 0),
      pids_(static_cast<std::size_t>(size), 0),
      seen_bits_(lanes_.lanes() * lanes_.register_words(), 0) {
    if (segment.size() < segment_bytes(size, room))
        throw std::invalid_argument("a segment of " + std::to_string(segment.size()) + " bytes for " +
                                    std::to_string(size) + " ranks, which need " +
                                    std::to_string(segment_bytes(size, room)));
    options_.single_copy = single_copy_;
    options_.single_copy_from = scratch.empty() ? config().single_copy_from : 0;
    store(lanes_.member(rank).pid_namespace, pid_namespace());
    store(lanes_.member(rank).pid, static_cast<std::uint64_t>(getpid()));
    waiter_.also_look([this] {
        if (doing_ != nothing) compare_calls(doing_);
    });
}

Group::~Group() = default;

std::size_t Group::segment_bytes(int size, SharedLanes::Room room) { return SharedLanes::bytes(size, room); }

// --- plans -----------------------------------------------------------------------------

namespace {

// No algorithm stages more than this in one run: every round of a tree or of a doubling
// passes on at most everything, and there are no more rounds than log2(size) and the fold.
// The root of a bcast may put everything to everybody.
std::size_t staging_bound(const Problem& p) {
    const auto size = static_cast<std::size_t>(p.size), rounds = static_cast<std::size_t>(std::bit_width(size));
    return (total_bytes(p) + 64 * size) * (p.operation == Operation::bcast ? std::max(size, rounds + 2) : rounds + 2);
}

}  // namespace

// What it returns is the same on all ranks: it depends on all of them.
Group::Cut Group::cut(const Algorithm& algorithm, const Problem& problem, const BindOptions& options) const {
    const std::size_t length = length_of(problem);
    const Reach& reach = options.reach;
    if (reach.no_one_is_near()) return {cut_for_windows(algorithm, problem, reach), false};
    // Of several nodes the largest has the least room for each rank, and the smallest needs the most.
    const auto [smallest, largest] = reach.nodes ? reach.nodes->sizes() : std::pair(size_, size_);
    const SharedLanes lanes = reach.nodes ? SharedLanes(nullptr, smallest) : lanes_;
    const std::size_t area = std::min(lanes.staging_bytes(), reach.nodes ? SharedLanes(nullptr, largest).staging_bytes() : SIZE_MAX);
    const bool oversubscribed = reach.nodes ? reach.oversubscribed : this->oversubscribed();
    const std::size_t all_staged = options.single_copy ? std::min(area, options.single_copy_from) : area;
    std::size_t longest = default_piece(problem.operation, length, oversubscribed);
    if (config().piece) longest = config().piece;
    if (problem.parameters.piece) longest = problem.parameters.piece;
    else if (!mapped_scratch_.empty()) longest = std::max(longest, room_for_scratch());
    // What asks for pieces is also cut where nothing needs staging.
    const bool may_be_whole = (!algorithm.pipelined && problem.parameters.piece == 0) || length <= longest;
    // Levels may make more offers than there is room for.
    if (may_be_whole && !algorithm.levels && staging_bound(problem) < all_staged) return {length, false};
    const std::size_t room = area * (oversubscribed ? lanes.areas() : 1);
    const auto needs = [&](std::size_t bytes) {
        // A shorter piece may need more: what is too short to be copied once is staged, and an algorithm may take
        // another way.
        Needs most;
        for (const Pieces& alike : pieces_of(problem, bytes)) {
            Problem p = piece_of(problem, bytes, alike.first);
            for (p.rank = 0; p.rank < p.size; ++p.rank) {
                const Needs n = needs_of(algorithm.schedule(p), p.rank, lanes, options);
                most = {std::max(most.staged, n.staged), std::max(most.longest, n.longest),
                        std::max(most.long_puts, n.long_puts), std::max(most.scratch, n.scratch), std::max(most.offers, n.offers)};
            }
        }
        return most;
    };
    const auto fits = [&](const Needs& n, std::size_t message) {
        return n.staged <= room && n.longest <= message && n.long_puts <= Channel::posts &&
               n.scratch <= room_for_scratch() && n.offers <= SharedLanes::offers_per_operation;
    };
    const auto cut_at = [&](std::size_t bytes, const Needs& n) { return Cut{bytes, n.staged > area}; };
    const Needs whole = needs(length);
    // As it is when all that is long is read from its owner.
    if (may_be_whole && fits(whole, longest)) return cut_at(length, whole);
    const std::size_t unit = std::max<std::size_t>(problem.element, 1);
    // Of many offers the shortest pieces make as few as any.
    const bool may_fit = whole.offers <= SharedLanes::offers_per_operation || needs(unit).offers <= SharedLanes::offers_per_operation;
    for (std::size_t bytes = std::min(longest, length); may_fit; bytes /= 2) {
        const std::size_t units = std::max(bytes / unit, std::size_t{1}) * unit;
        const Needs piece = needs(units);
        if (fits(piece, longest)) return cut_at(units, piece);
        if (units == unit) break;
    }
    // A buffer of all blocks that is offered whole is no shorter for being cut in pieces.
    if (fits(whole, room)) return cut_at(length, whole);
    if (whole.offers > SharedLanes::offers_per_operation)
        throw std::invalid_argument(std::string(to_string(problem.operation)) + ":" + std::string(algorithm.name) + " would make " +
                                    std::to_string(whole.offers) + " offers in one operation; there is room for " +
                                    std::to_string(SharedLanes::offers_per_operation));
    throw std::invalid_argument(std::string(to_string(problem.operation)) + ":" + std::string(algorithm.name) +
                                " would have to stage a whole buffer of all ranks' blocks, " +
                                std::to_string(total_bytes(problem)) + " bytes; there is room for " +
                                std::to_string(room) +
                                " (it serves longer ones where single copy is allowed)");
}

// Messages may be of any length; windows have room for so much.
std::size_t Group::cut_for_windows(const Algorithm& algorithm, const Problem& problem, const Reach& reach) const {
    const std::size_t length = length_of(problem);
    const RemoteRoom room = remote_->room();
    if (room.bytes == 0 || length == 0) return length;
    const std::size_t unit = std::max<std::size_t>(problem.element, 1);
    for (std::size_t bytes = length;; bytes = (bytes / 2 + unit - 1) / unit * unit) {
        Problem p = piece_of(problem, bytes, 0);
        p.rank = -1;
        const Exchange needs = exchange(algorithm, p, reach);
        if (needs.area_bytes <= room.bytes && needs.flags <= room.flags) return bytes;
        if (bytes <= unit || needs.flags > room.flags) break;
    }
    throw std::invalid_argument(std::string(to_string(problem.operation)) + ":" + std::string(algorithm.name) +
                                " needs more than the windows' " + std::to_string(room.bytes) + " bytes and " +
                                std::to_string(room.flags) + " flags");
}

void Group::plan_pieces(const Algorithm& algorithm, const Problem& problem, Cut cut, const BindOptions& options, Plan& plan) const {
    plan.algorithm = &algorithm;
    const Reach& reach = options.reach;
    plan.name.assign(to_string(problem.operation)).append(" (").append(algorithm.name);
    if (reach.nodes) plan.name.append(", ").append(to_string(reach.transport));
    plan.name.append(")");
    plan.piece_bytes = cut.bytes;
    plan.called = called(problem);
    const bool whole = length_of(problem) <= cut.bytes;
    const std::vector<Pieces> pieces = whole ? std::vector{Pieces{0, 1}} : pieces_of(problem, cut.bytes);
    plan.parts.resize(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Problem p = whole ? problem : piece_of(problem, cut.bytes, pieces[i].first);
        Schedule schedule = p.rank < 0 ? Schedule{} : algorithm.schedule(p);
        if (reach.nodes) {
            const Exchange messages = exchange(algorithm, p, reach);
            bind(schedule, p.rank, plan.called, p.element, lanes_, options, plan.parts[i].schedule, &messages);
        } else {
            bind(schedule, rank_, plan.called, p.element, lanes_, options, plan.parts[i].schedule);
        }
        plan.parts[i].schedule.wide = cut.wide;
        plan.parts[i].repeat = pieces[i].number;
        Builder::recycle(std::move(schedule));
    }
    // No offer is longer than all bytes together; in a neighborhood nobody knows these.
    const bool nothing_is_direct = !options.single_copy || (total_bytes(problem) < options.single_copy_from &&
                                                            family_of(problem.operation) != Family::neighbors);
    const BoundSchedule& first = plan.parts.front().schedule;
    plan.tells_first = whole && nothing_is_direct && first.tells_first;
    const auto is_alone = [](const BoundStep& s) {
        return s.kind == BoundKind::offer && s.place == Place::inlined && s.from_buffer == Buffer::input && s.bytes > 0;
    };
    plan.offers_alone = plan.tells_first && !first.wide && first.told == 1 && is_alone(first.steps.front());
    plan.relengths_to = whole && !reach.nodes ? relengths_to(problem, plan, options) : 0;
    if (plan.relengths_to) plan.moves = first.steps;
}

std::size_t Group::relengths_to(const Problem& p, const Plan& plan, const BindOptions& options) const {
    const bool can_be = p.operation == Operation::allgatherv || p.operation == Operation::gatherv ||
                        p.operation == Operation::scatterv || p.operation == Operation::alltoallv;
    if (!can_be || !moves_blocks_whole(p, plan.parts.front().schedule)) return 0;
    std::size_t longest = std::min(default_piece(p.operation, 0, oversubscribed()), lanes_.staging_bytes());
    for (const std::size_t piece : {options.piece, p.parameters.piece, config().piece})
        if (piece) longest = std::min(longest, piece);
    if (!options.single_copy) return longest;
    return options.single_copy_from ? std::min(longest, options.single_copy_from - 1) : 0;
}

void Group::plan(const Algorithm& algorithm, const Problem& problem, Plan& plan, const Reach& reach) const {
    if (const std::string why = restriction(algorithm, problem); !why.empty())
        throw std::invalid_argument(why);
    BindOptions options = options_;
    options.reach = reach;
    if (reach.nodes) options.single_copy = reach.single_copy;
    plan_pieces(algorithm, problem, cut(algorithm, problem, options), options, plan);
}

Plan Group::plan(const Algorithm& algorithm, const Problem& problem, const Reach& reach) const {
    Plan result;
    plan(algorithm, problem, result, reach);
    return result;
}

namespace {

std::size_t whole_lines(std::size_t bytes) { return bytes / 64 * 64; }

}  // namespace

// Each peer has as many slots in the staging as cells.
std::size_t Group::longest_piece(const Share& share) const {
    const std::size_t room = lanes_.staging_bytes() * (share.wide ? lanes_.areas() : 1);
    return whole_lines(room / std::max<std::size_t>(share.most.peers, 1) / static_cast<std::size_t>(lanes_.depth()));
}

bool Group::plans_blindly(const Algorithm& algorithm, const Share& share) const {
    constexpr std::size_t shortest = 512;  // shorter ones are mostly flags
    return single_copy_ || (algorithm.piecewise && longest_piece(share) >= shortest);
}

void Group::plan_blindly(const Algorithm& algorithm, const Problem& problem, const Share& share, Plan& plan) const {
    Problem p = problem;
    BindOptions options = options_;
    options.stage_at_reader = share.at_reader;
    const std::size_t asked = p.parameters.piece ? p.parameters.piece : config().piece;
    const bool in_pieces = algorithm.piecewise && (!single_copy_ || asked);
    if (in_pieces) {
        options.single_copy = false;
        const std::size_t piece = longest_piece(share);
        options.piece = asked ? std::min(asked, piece) : piece;
        // What is read is offered with all that lies between it, one block for each edge.
        const std::size_t room = whole_lines(lanes_.staging_bytes() / std::max<std::size_t>(share.most.edges, 1));
        p.parameters.piece = std::clamp<std::size_t>(room, 1, options.piece);
    } else {
        // What is shorter finds room as it is.
        options.single_copy_from = std::min(options.single_copy_from, whole_lines(lanes_.staging_bytes() / std::max<std::size_t>(share.most.edges, 1)));
    }
    plan_pieces(algorithm, p, {std::max<std::size_t>(length_of(p), 1), in_pieces && share.wide}, options, plan);
}

bool Group::plans_neighbors(const Algorithm& algorithm, Most most) const { return plans_blindly(algorithm, {most}); }

void Group::plan_neighbors(const Algorithm& algorithm, const Problem& problem, Most most, Plan& plan) const {
    plan_blindly(algorithm, problem, {most}, plan);
}

// A rank of gatherv puts to one alone, and so is put to by one alone in scatterv, where the root may
// go on to the next operations.  In alltoallv all wait for all: there an operation may have all areas.
Group::Share Group::share(Operation operation) const {
    const bool exchange = operation == Operation::alltoallv;
    const std::size_t peers = exchange ? static_cast<std::size_t>(size_ - 1) : 1;
    return {{peers, peers}, exchange && size_ > 2, operation == Operation::scatterv};
}

bool Group::plans_whole(const Algorithm& algorithm) const { return plans_blindly(algorithm, share(algorithm.operation)); }

void Group::plan_whole(const Algorithm& algorithm, const Problem& problem, Plan& plan) const {
    plan_blindly(algorithm, problem, share(problem.operation), plan);
}

void Group::run_whole(const Algorithm& algorithm, const Problem& problem, const void* input, void* output) {
    auto& [last, plan] = last_whole_[problem.operation];
    const bool same = plan.algorithm == &algorithm && last.root == problem.root && last.parameters == problem.parameters;
    if (!same || last.blocks != problem.blocks || last.sends != problem.sends) {
        if (!same || !relength(problem, plan)) plan_whole(algorithm, problem, plan);
        last = problem;
    }
    run(plan, input, output, nullptr);
    constexpr std::size_t most_steps = 4096;  // the pieces of long blocks
    if (plan.parts.front().schedule.steps.size() > most_steps) plan = {};
}

// --- running ---------------------------------------------------------------------------

void Group::meet() {
    const std::uint64_t own = load(lanes_.member(rank_).pid_namespace);
    std::vector<pid_t> watched;
    for (int r = 0; r < size_; ++r) {
        const SharedLanes::Member& member = lanes_.member(r);
        pids_[static_cast<std::size_t>(r)] = static_cast<pid_t>(load(member.pid));
        // Elsewhere the same number may be a stranger's, or nobody's.
        const bool known = own != 0 && load(member.pid_namespace) == own;
        watched.push_back(known ? pids_[static_cast<std::size_t>(r)] : 0);
    }
    waiter_.watch(watched, rank_);
    waiter_.share_cores(&lanes_.member(0).core, sizeof(SharedLanes::Member));
}

std::byte* Group::reached(const Frame& frame, int peer, std::uint64_t there) const {
    const std::size_t offset = there & ((std::uint64_t{1} << Frame::buffer_bits) - 1), p = static_cast<std::size_t>(peer);
    switch (static_cast<Buffer>((there >> Frame::buffer_bits) - 1)) {
        case Buffer::input: return frame.mapped->input[p] + frame.shift + offset;
        case Buffer::output: return frame.mapped->output[p] + frame.shift + offset;
        default: break;  // scratch
    }
    return mapped_scratch_.data() + p * room_for_scratch() + offset;
}

void Group::copy_once(Way way, const Frame& frame, int peer, std::byte* here, std::uint64_t there, std::size_t bytes) {
    if (frame.mapped) {
        std::byte* const theirs = reached(frame, peer, there);
        return way == Way::read ? copy_bytes(here, theirs, bytes) : copy_bytes(theirs, here, bytes);
    }
    const pid_t pid = pids_[static_cast<std::size_t>(peer)];
    while (bytes > 0) {
        const iovec mine{here, bytes};
        const iovec theirs{reinterpret_cast<void*>(there), bytes};
        const ssize_t n = way == Way::read ? process_vm_readv(pid, &mine, 1, &theirs, 1, 0)
                                           : process_vm_writev(pid, &mine, 1, &theirs, 1, 0);
        if (n <= 0) {
            if (n < 0 && errno == EINTR) continue;
            lost(peer, frame.name, n < 0 ? errno : EFAULT);
        }
        here += n;
        there += static_cast<std::uint64_t>(n);
        bytes -= static_cast<std::size_t>(n);
    }
}

// Piece by piece, each combined while it is still in this core's own cache.
void Group::read_and_combine(const BoundStep& s, const Frame& frame, std::uint64_t there, std::byte* to,
                             const std::byte* operand, std::size_t element) {
    const CombinerCall apply{frame.combiner};
    if (frame.mapped) {
        const std::byte* const theirs = reached(frame, s.peer, there);
        if (s.fused == Order::before) apply(operand, theirs, to, s.bytes);
        else if (s.fused == Order::after) apply(theirs, operand, to, s.bytes);
        else if (s.order == Order::before) apply(theirs, to, to, s.bytes);
        else apply(to, theirs, to, s.bytes);
        return;
    }
    // Smaller pieces cost more system calls, larger ones leave the cache: measured.
    const std::size_t cached_piece = own_cache() / 8;
    const std::size_t piece = std::max(cached_piece / element, std::size_t{1}) * element;
    if (s.fused == Order::overwrite && piece_.size() < piece) piece_.resize(piece);
    for (std::size_t i = 0; i < s.bytes; i += piece) {
        const std::size_t n = std::min(piece, s.bytes - i);
        if (s.fused != Order::overwrite) {
            copy_once(Way::read, frame, s.peer, to + i, there + i, n);
            if (s.fused == Order::before) apply(operand + i, to + i, to + i, n);
            else apply(to + i, operand + i, to + i, n);
        } else {
            copy_once(Way::read, frame, s.peer, piece_.data(), there + i, n);
            if (s.order == Order::before) apply(piece_.data(), to + i, to + i, n);
            else apply(to + i, piece_.data(), to + i, n);
        }
    }
}

void Group::run(const Plan& plan, const void* input, void* output, const Combiner* combiner, const Meanwhile* meanwhile) {
    if (!out_of_step_.empty()) [[unlikely]] throw OutOfStep(out_of_step_);
    // A rank that has no part in it may have no buffers.
    auto from = reinterpret_cast<std::uintptr_t>(input), to = reinterpret_cast<std::uintptr_t>(output);
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i) {
            const bool last = &part == &plan.parts.back() && i + 1 == part.repeat;
            run_once(part.schedule, reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(to), combiner, plan,
                     last ? meanwhile : nullptr);
            from += plan.piece_bytes;
            to += plan.piece_bytes;
        }
}

void Group::run(const Plan& plan, const Mapped& buffers, const Combiner* combiner) {
    if (!out_of_step_.empty()) [[unlikely]] throw OutOfStep(out_of_step_);
    const auto own = static_cast<std::size_t>(rank_);
    std::size_t shift = 0;
    for (const Plan::Part& part : plan.parts)
        for (std::size_t i = 0; i < part.repeat; ++i, shift += plan.piece_bytes)
            run_once(part.schedule, buffers.input[own] + shift, buffers.output[own] + shift, combiner, plan, nullptr, &buffers, shift);
}

void Group::run_once(const BoundSchedule& schedule, const std::byte* input, std::byte* output,
                     const Combiner* combiner, const Plan& plan, const Meanwhile* meanwhile, const Mapped* mapped, std::size_t shift) {
    const char* const name = plan.name.c_str();
    const ToTheEnd wait{waiter_, name};
    if (sequence_ == 0) meet();
    write_down(doing_ = sequence_, plan.called);
    std::uint64_t sequence;
    lane_is_free(schedule, sequence_, sequence, wait);
    if (!mapped && scratch_.size() < schedule.scratch_bytes) scratch_.resize(schedule.scratch_bytes);
    std::byte* const scratch = mapped ? mapped_scratch_.data() + static_cast<std::size_t>(rank_) * room_for_scratch() : scratch_.data();
    std::size_t next = 0;
    const Frame frame{sequence, {const_cast<std::byte*>(input), output, scratch}, combiner, name, mapped, shift};
    if (meanwhile) [[unlikely]] {
        int waits_for;
        steps(schedule, frame, next, schedule.steps.size(), OneLook<true>{waits_for});
        (*meanwhile)();
    }
    steps(schedule, frame, next, schedule.steps.size(), wait);
    sequence_ = sequence + numbers(schedule);
    store(lanes_.member(rank_).done, sequence_);
    if (schedule.has_direct_offers) was_read(schedule, sequence, wait);
}

// --- ranks that call different things --------------------------------------------------

void Group::write_down(std::uint64_t taken, std::uint64_t what) {
    SharedLanes::Called& mine = lanes_.called(rank_, taken);
    if (load(mine.taken) == taken + 1) return;
    store(mine.taken, 0);  // until `what` is there
    store(mine.what, what);
    store(mine.taken, taken + 1);
}

// Whether another one is in this very operation by another call.
void Group::compare_calls(std::uint64_t taken) {
    const SharedLanes::Called& mine = lanes_.called(rank_, taken);
    if (load(mine.taken) != taken + 1) return;  // not begun
    for (int r = 0; r < size_; ++r) {
        if (load(lanes_.member(r).out_of_step))
            out_of_step("rank " + std::to_string(r) + " has found that the ranks of this communicator call different collectives");
        const SharedLanes::Called& theirs = lanes_.called(r, taken);
        // It may be writing the next one down there, between any two looks.
        if (load(theirs.taken) != taken + 1) continue;
        const std::uint64_t what = load(theirs.what);
        if (load(theirs.taken) != taken + 1 || what == load(mine.what)) continue;
        out_of_step("rank " + std::to_string(r) + " calls " + call_text(what) + " where rank " + std::to_string(rank_) +
                    " calls " + call_text(load(mine.what)));
    }
}

// Who finds it is the reader, or the writer of a block that is written straight into the other's memory.
void Group::wrong_length(int peer, bool peer_sends, std::size_t sent, std::size_t expected, const char* name, bool more_sent, bool more_expected) {
    const auto says = [&](bool sends) { return "rank " + std::to_string(sends == peer_sends ? peer : rank_); };
    const auto text = [](bool more, std::size_t bytes) { return (more ? "more than " : "") + std::to_string(bytes); };
    out_of_step(says(true) + " sends " + text(more_sent, sent) + " bytes where " + says(false) + " expects " +
                text(more_expected, expected) + " from it in " + name);
}

void Group::out_of_step(const std::string& message) {
    store(lanes_.member(rank_).out_of_step, 1);
    throw OutOfStep(out_of_step_ = message);
}

// It can be read no more: it died, or somebody forbade it on the way.
[[noreturn]] void Group::lost(int peer, const char* name, int error) {
    waiter_.fail("rank " + std::to_string(rank_) + " cannot read the memory of rank " +
                 std::to_string(peer) + " in " + name + ": " + std::strerror(error) +
                 " (FANLIGHT_SINGLE_COPY=off avoids process_vm_readv)");
}

}  // namespace fanlight

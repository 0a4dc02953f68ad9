#include "execute/planner.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "algorithms/blocks.h"
#include "algorithms/lengths.h"
#include "config/config.h"
#include "execute/called.h"
#include "execute/copy.h"
#include "execute/copy_speed.h"
#include "execute/lending.h"
#include "execute/staging.h"
#include "schedule/all_ranks.h"
#include "schedule/builder.h"
#include "schedule/composer.h"

namespace fanlight {

Planner::Planner(std::byte* base, int rank, int size, bool single_copy, SharedSlots::Capacity room, std::span<std::byte> scratch)
    : rank_(rank), size_(size), single_copy_(single_copy || !scratch.empty()), capacity_(room), mapped_scratch_(scratch), shared_slots_(base, size, room) {
    options_.inlined = shared_slots_.payload_bytes();
    options_.single_copy = single_copy_;
    options_.single_copy_from = !scratch.empty() ? 0 : config().single_copy_from ? config().single_copy_from : CopySpeed::unmeasured;
    options_.lent_from = scratch.empty() ? lent_from() : SIZE_MAX;
}

static_assert(most_offers == SharedSlots::offers_per_operation);

// More ranks have little staging.
constexpr int most_that_stage = 32;

void Planner::copy_once_from(std::size_t bytes) { copied_once_from_ = bytes; }

BindOptions Planner::options_for(Operation operation, const Reach& reach, std::size_t once) const {
    BindOptions options = options_;
    options.reach = reach;
    const int near = reach.nodes ? reach.nodes->sizes().second : size_;  // alike on all nodes
    if (options.single_copy_from && config().single_copy_from == 0) {
        const std::size_t measured = reach.nodes ? reach.single_copy_from : copied_once_from_;
        // One copy makes the owner wait until all its readers have run, and the kernel reads no faster than this rank loads.
        if (reach.nodes ? reach.oversubscribed : oversubscribed_) options.single_copy_from = CopySpeed::never;
        // And ranks that read the same pages of a process wait for each other in the kernel.
        else if (near > 2 && near <= most_that_stage && gives_the_same_to_several(operation)) options.single_copy_from = CopySpeed::never;
        else if (measured) options.single_copy_from = measured;
        if (once) options.single_copy_from = std::min(options.single_copy_from, once);
    }
    if (!reach.nodes) return options;
    options.single_copy = reach.single_copy;
    // Alike on all nodes: the largest has the shortest cells.
    options.inlined = SharedSlots(nullptr, reach.nodes->sizes().second).payload_bytes();
    return options;
}

namespace {

void name(Plan& plan, const Algorithm& algorithm, const Problem& problem, const Reach& reach) {
    plan.algorithm = &algorithm;
    plan.name.assign(to_string(problem.operation)).append(" (").append(algorithm.name);
    if (reach.nodes) plan.name.append(", ").append(to_string(reach.transport));
    plan.name.append(")");
    plan.called = called(problem);
}

}  // namespace

void Planner::bind_piece(const Algorithm& algorithm, const Problem& p, std::uint64_t called, const BindOptions& options, BoundSchedule& bound) const {
    Composer::OfAllRanks once;
    Schedule schedule = algorithm.schedule(p);
    if (options.reach.nodes) {
        const Exchange messages = exchange(algorithm, p, options.reach);
        bind(schedule, p.rank, called, p.element, shared_slots_, options, bound, &messages);
    } else {
        bind(schedule, rank_, called, p.element, shared_slots_, options, bound);
    }
    // Where all send as well nobody has time for it.
    bound.is_followed = has_root(p.operation) || is_prefix(p.operation);
    Builder::recycle(std::move(schedule));
}

// A fault of this library's, if anything.
void Planner::must_have_room(const BoundSchedule& schedule) const {
    if (!schedule.stages_at_reader && schedule.staged > shared_slots_.staging_bytes() * (schedule.in_many_areas ? shared_slots_.areas() : 1))
        throw std::logic_error("a plan stages " + std::to_string(schedule.staged) + " bytes, for which it has no room");
}

void Planner::plan_pieces(const Algorithm& algorithm, const Problem& problem, Cut cut, BindOptions options, Plan& plan) const {
    const Reach& reach = options.reach;
    // Of so much the readers' caches hold nothing until the next call.
    options.lends_sums = total_bytes(problem) >= own_cache();
    plan.lengths = nullptr;
    name(plan, algorithm, problem, reach);
    plan.piece_bytes = cut.bytes;
    const bool whole = plan.whole = length_of(problem) <= cut.bytes;
    const std::vector<Pieces> pieces = whole ? std::vector{Pieces{0, 1}} : pieces_of(problem, cut.bytes);
    plan.parts.resize(pieces.size());
    constexpr std::size_t most_in_flight = 16;
    plan.in_flight = whole || !plan.remote ? 1 : std::min(plan.remote->operations_in_flight(), most_in_flight);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Problem p = whole ? problem : piece_of(problem, cut.bytes, pieces[i].first);
        bind_piece(algorithm, p, plan.called, options, plan.parts[i].schedule);
        plan.parts[i].schedule.in_many_areas = cut.in_many_areas;
        must_have_room(plan.parts[i].schedule);
        plan.parts[i].repeat = pieces[i].number;
    }
    // No offer is longer than all bytes together; in a neighborhood nobody knows these, so that none is lent there.
    const bool nothing_is_direct = total_bytes(problem) < std::min(options.lent_from, options.single_copy ? options.single_copy_from : SIZE_MAX) &&
                                   (!options.single_copy || family_of(problem.operation) != Family::neighbors);
    const BoundSchedule& first = plan.parts.front().schedule;
    plan.sends_complete_first = whole && nothing_is_direct && first.sends_complete_first;
    plan.rebinds_counts_to = 0;
    plan.rebound = false;
    if (whole && !reach.nodes && !lengths_first(algorithm)) keep_moves(algorithm, problem, options, plan);
    find_long_moves(problem, plan);
}

// What is staged in many places in turn may be in no cache when its place comes round: between two threads of a core, with buffers
// that change, a bcast of 4 MiB took 204 us, and 81 in few places.  Results of four times what a cache holds would leave nothing
// else there.  A vector that all get is no longer than its sender's: with half the memory usual stores are as fast.  Measured for
// 2 and 4 ranks.  Where less is staged, what is worth trying is a copy along.
void Planner::find_long_moves(const Problem& problem, Plan& plan) {
    plan.ways.reset();
    std::size_t received = 0, staged = 0;
    bool has_copy_along = false;
    for (const Plan::Part& part : plan.parts) {
        for (const BoundStep& s : part.schedule.steps) {
            const bool sends = (s.kind == BoundKind::put || s.kind == BoundKind::offer) && s.place == Place::staged;
            if ((s.kind == BoundKind::arrive || s.kind == BoundKind::get) && s.order == Order::overwrite) received += s.bytes * part.repeat;
            if (sends) staged += s.bytes * part.repeat;
            has_copy_along |= sends && &s != &part.schedule.steps.back() && is_copied_along(s, (&s)[1]);
        }
    }
    const bool has_long_results = family_of(problem.operation) != Family::vector && std::min(received, total_bytes(problem)) >= 4 * own_cache();
    for (Plan::Part& part : plan.parts) part.schedule.has_long_results = has_long_results;
    if (has_root(problem.operation)) has_copy_along = false;  // its readers would wait, whom the root's times do not show
    if (staged < own_cache() && !has_copy_along) return;
    plan.ways = std::make_unique<FasterWay>();
    plan.second_way = staged < own_cache() ? Plan::SecondWay::copies_along : Plan::SecondWay::few_places;
}

// How each block is moved.  Of a problem in which one is empty, or too long, these are not its own steps.
void Planner::keep_moves(const Algorithm& algorithm, const Problem& problem, const BindOptions& options, Plan& plan) const {
    const Operation o = problem.operation;
    const bool can_be = family_of(o) == Family::blocks_v && !reduces(o);
    const std::size_t longest = can_be ? longest_rebound(problem, options) : 0;
    if (longest == 0) return;
    const BoundSchedule& own = plan.parts.front().schedule;
    if (moves_blocks_whole(problem, own)) {
        plan.moves = own;
    } else {
        Problem short_ones = problem;
        for (std::vector<Block>* blocks : {&short_ones.blocks, &short_ones.sends})
            for (std::size_t i = 0; i < blocks->size(); ++i) (*blocks)[i] = {i, 1};
        bind_piece(algorithm, short_ones, plan.called, options, plan.moves);
        plan.moves.in_many_areas = own.in_many_areas;
        if (!moves_blocks_whole(short_ones, plan.moves)) return;
    }
    // Alike for a rank that rebinds its plan and one that makes a new one: what it may rebind to fits into an area.
    if (!lengths_are_unknown(o)) plan.moves.in_many_areas = false;
    plan.rebinds_counts_to = longest;
}

std::size_t Planner::longest_rebound(const Problem& p, const BindOptions& options) const {
    std::size_t longest = std::min(staged_piece(p.operation, 0, oversubscribed()), shared_slots_.staging_bytes());
    for (const std::size_t piece : {options.piece, p.parameters.piece, config().piece})
        if (piece) longest = std::min(longest, piece);
    if (!options.single_copy) return longest;
    return options.single_copy_from ? std::min(longest, options.single_copy_from - 1) : 0;
}

// A scatter's root has too little staging for all blocks; each reader's has room for its own.  Alike on all ranks, as all
// know the length.
bool Planner::scatters_at_readers(const Algorithm& algorithm, const Problem& problem, const Reach& reach) const {
    if (problem.operation != Operation::scatter || !algorithm.has(property::piecewise) || reach.nodes || size_ <= 2 || size_ > most_that_stage) return false;
    if (!mapped_scratch_.empty() || problem.parameters.piece != 0 || config().piece != 0) return false;
    constexpr std::size_t most_pieces = 64;  // of one block: each is a step of the root's plan
    const BindOptions options = options_for(problem.operation, reach, problem.parameters.once);
    const std::size_t length = length_of(problem);
    return (options.single_copy && length >= options.single_copy_from) || length <= most_pieces * longest_piece(share(algorithm, reach, {}), shared_slots_);
}

void Planner::plan(const Algorithm& algorithm, const Problem& problem, Plan& plan, const Reach& reach, MostNeighbors most) const {
    if (const std::string why = restriction(algorithm, problem); !why.empty()) throw std::invalid_argument(why);
    plan.placed = shared_slots_.base() ? placed_ : 0;
    plan.remote = remote(reach);
    if (lengths_are_unknown(problem.operation) || scatters_at_readers(algorithm, problem, reach)) return plan_with_local_counts(algorithm, problem, share(algorithm, reach, most), reach, plan);
    const BindOptions options = options_for(problem.operation, reach, problem.parameters.once);
    plan_pieces(algorithm, problem, cut(algorithm, problem, options), options, plan);
}

Plan Planner::plan(const Algorithm& algorithm, const Problem& problem, const Reach& reach, MostNeighbors most) const {
    Plan result;
    plan(algorithm, problem, result, reach, most);
    return result;
}

namespace {

std::size_t lines_in(std::size_t bytes) { return bytes / 64 * 64; }

bool scatters(Operation o) { return o == Operation::scatter || o == Operation::scatterv; }

// Shorter pieces are mostly flags, or cost more by them than the kernel does for a whole block.
constexpr std::size_t shortest_piece = 128, worth_a_flag = 8 * 1024;

}  // namespace

// Each peer has as many slots in the staging as cells.  A rank has all its areas, which nobody waits for but itself, but in
// another's only one: that one must leave some to the next operations.
std::size_t Planner::longest_piece(const Share& share, const SharedSlots& slots) {
    const std::size_t room = slots.staging_bytes() * (share.at_reader ? 1 : slots.areas());
    return std::min(share.longest, lines_in(room / std::max<std::size_t>(share.most.peers, 1) / static_cast<std::size_t>(slots.depth())));
}

// Alike on all nodes: the largest has the least room for each rank.
SharedSlots Planner::least_room(const Reach& reach) const {
    return reach.nodes ? SharedSlots(nullptr, reach.nodes->sizes().second, capacity_) : shared_slots_;
}

std::size_t Planner::told_at_most(const Algorithm& algorithm, const Reach& reach) const {
    return reach.nodes ? most_told(algorithm, reach.nodes->ranks(), reach.nodes->count(), reach.nodes->sizes().second) : most_told(algorithm, size_, 1, size_);
}

bool Planner::plans_any(const Algorithm& algorithm, const Reach& reach, MostNeighbors most) const {
    if (reach.nodes && most.edges > RemoteTransport::most_messages) return false;
    if (const SharedSlots slots = least_room(reach); lengths_first(algorithm) && told_at_most(algorithm, reach) > slots.areas() * slots.staging_bytes()) return false;
    if (reach.nodes ? reach.single_copy || reach.no_one_is_near() : single_copy_) return true;
    return algorithm.has(property::piecewise) && longest_piece(share(algorithm, reach, most), least_room(reach)) >= shortest_piece;
}

void Planner::plan_with_local_counts(const Algorithm& algorithm, const Problem& problem, const Share& share, const Reach& reach, Plan& plan) const {
    Problem p = problem;
    BindOptions options = options_for(problem.operation, reach, problem.parameters.once);
    options.lends_offers = family_of(p.operation) != Family::neighbors;
    options.readers_copy = scatters(p.operation);
    options.stage_at_reader = share.at_reader;
    if (share.at_reader && p.rank != p.root) options.staged_from = lines_in(shared_slots_.staging_bytes() / share.writers) * (share.writers - 1);
    const std::size_t asked = p.parameters.piece ? p.parameters.piece : config().piece;
    // For whole blocks, one for each edge: what is read is offered with all that lies between it.
    const std::size_t room = lines_in(shared_slots_.staging_bytes() / std::max<std::size_t>(share.most.edges, 1));
    const std::size_t piece = longest_piece(share, shared_slots_);
    const bool staged_is_faster = options.single_copy_from > piece && piece >= worth_a_flag;
    const bool in_pieces = algorithm.has(property::piecewise) && piece >= shortest_piece && (!options.single_copy || asked || staged_is_faster);
    if (in_pieces) {
        options.single_copy &= asked == 0;
        options.piece = asked ? std::min(asked, piece) : piece;
        p.parameters.piece = std::clamp<std::size_t>(room, 1, options.piece);
    } else {
        options.single_copy_from = std::min(options.single_copy_from, room);
    }
    if (lengths_travel(algorithm, p)) plan_lengths(algorithm, p, in_pieces && !share.at_reader, options, plan);
    else plan_pieces(algorithm, p, {std::max<std::size_t>(length_of(p), 1), in_pieces && !share.at_reader}, options, plan);
}

// A rank of gatherv puts to one alone, and so is put to by one alone in scatter(v).  There one copies in while the other copies
// out, if both have a core.  By levels a rank puts to its representative, or is put to by it, and to the root, or by it; by
// digits twice to a rank, once of them what is packed.
Planner::Share Planner::share(const Algorithm& algorithm, const Reach& reach, MostNeighbors most) const {
    if (family_of(algorithm.operation) == Family::neighbors) return {most};
    const bool exchange = algorithm.operation == Operation::alltoallv, from_the_root = scatters(algorithm.operation);
    const std::size_t ways = lengths_first(algorithm) ? 2 : 1;
    const int near = reach.nodes ? reach.nodes->sizes().second : size_;  // alike on all nodes
    const std::size_t peers = exchange ? static_cast<std::size_t>(near - 1) : ways;
    const std::size_t longest = exchange || (reach.nodes ? reach.oversubscribed : oversubscribed_) ? SIZE_MAX : one_way_longest;
    // A writer may put twice to one reader, and of two each has its half of the reader's area.
    return {{from_the_root || exchange ? peers * ways : peers, peers}, from_the_root && near > 2, ways, longest};
}

// Two operations, of which the second has its steps when the first is over.
void Planner::plan_lengths(const Algorithm& algorithm, const Problem& problem, bool in_many_areas, const BindOptions& options, Plan& plan) const {
    Plan made;
    made.placed = plan.placed;
    made.remote = plan.remote;
    name(made, algorithm, problem, options.reach);
    made.parts.resize(2);
    made.parts.back().schedule.in_many_areas = in_many_areas;
    made.lengths = std::make_unique<Plan::Lengths>();
    Plan::Lengths& lengths = *made.lengths;
    lengths.problem = problem;
    lengths.options = options;
    lengths.tells = told_lengths(algorithm, problem);
    lengths.heard.resize(places_of_lengths(algorithm, problem));
    find_awaited(awaited_lengths(algorithm, problem), lengths);
    tell_lengths(problem, lengths);
    BindOptions whole = options_for(problem.operation, options.reach);
    whole.single_copy = false;
    bind_piece(*lengths_first(algorithm), own_lengths_of(algorithm, problem), made.called, whole, made.parts.front().schedule);
    made.parts.front().schedule.in_many_areas = told_at_most(algorithm, options.reach) > least_room(options.reach).staging_bytes();
    must_have_room(made.parts.front().schedule);
    plan = std::move(made);
}

// Where each of them belongs in the problem.
void Planner::find_awaited(std::vector<Awaited> awaited, Plan::Lengths& lengths) {
    lengths.problem.passing.clear();
    std::ranges::sort(awaited, {}, [](const Awaited& a) { return std::pair(a.from, a.to); });
    for (const Awaited& a : awaited) {
        if (lengths.problem.operation == Operation::alltoallv) {
            lengths.awaited.emplace_back(a.place, lengths.problem.passing.size());
            lengths.problem.passing.push_back({a.from, a.to, 0});
        } else {
            lengths.awaited.emplace_back(a.place, static_cast<std::size_t>(lengths.problem.operation == Operation::gatherv ? a.from : a.to));
        }
    }
}

void Planner::tell_lengths(const Problem& p, Plan::Lengths& lengths) {
    lengths.told.clear();
    if (p.operation == Operation::alltoallv) {
        lengths.bound = lengths.bound && lengths.problem.blocks == p.blocks && lengths.problem.sends == p.sends;
        lengths.problem.blocks = p.blocks;
        lengths.problem.sends = p.sends;
        for (const int r : lengths.tells) lengths.told.push_back(p.sends[static_cast<std::size_t>(r)].bytes);
        return;
    }
    for (const int r : lengths.tells) {
        const bool is_own = r == p.rank, is_known = is_own || p.rank == p.root;
        const Block& block = p.blocks[static_cast<std::size_t>(r)];
        Block& known = lengths.problem.blocks[static_cast<std::size_t>(r)];
        if (is_known && !(known == block)) {
            known = block;
            lengths.bound = false;
        }
        if (is_own || p.operation == Operation::scatterv) lengths.told.push_back(block.bytes);
    }
}

void Planner::bind_blocks(const Plan& plan) const {
    Plan::Lengths& lengths = *plan.lengths;
    Problem& p = lengths.problem;
    for (const auto& [place, index] : lengths.awaited) {
        std::size_t& known = p.operation == Operation::alltoallv ? p.passing[index].bytes : p.blocks[index].bytes;
        if (known == lengths.heard[place]) continue;
        known = lengths.heard[place];
        lengths.bound = false;
    }
    if (!lengths.bound) bind_piece(*plan.algorithm, lengths.problem, plan.called, lengths.options, lengths.blocks);
    lengths.blocks.in_many_areas = plan.parts.back().schedule.in_many_areas;
    lengths.bound = true;
}

}  // namespace fanlight

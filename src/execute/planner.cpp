#include "execute/planner.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "algorithms/blocks.h"
#include "algorithms/lengths.h"
#include "config/config.h"
#include "execute/called.h"
#include "execute/copy_speed.h"
#include "execute/staging.h"
#include "schedule/all_ranks.h"
#include "schedule/builder.h"

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

// Of what goes over messages: long enough to be worth one, short enough that one leaves at once, which over TCP ends a
// little below 64 KiB (Open MPI; measured: up to twice as fast as just above), and that several overlap.  In slots a
// vector's piece is shared out among a node's ranks.
std::size_t piece_between_nodes(Operation operation) {
    constexpr std::size_t of_block = 56 * 1024, of_vector = 112 * 1024;
    return family_of(operation) == Family::vector ? of_vector : of_block;
}

// So many are all asked what they need.
constexpr int few_ranks = 32;

// No algorithm stages more than this in one run: every round of a tree or of a doubling
// passes on at most everything, and there are no more rounds than log2(size) and the fold.
// The root of a bcast may put everything to everybody.
std::size_t staging_bound(const Problem& p) {
    const auto size = static_cast<std::size_t>(p.size), rounds = static_cast<std::size_t>(std::bit_width(size));
    return (total_bytes(p) + 64 * size) * (p.operation == Operation::bcast ? std::max(size, rounds + 2) : rounds + 2);
}

Needs bound_of(const Bounds& b, const BindOptions& options) {
    const std::size_t staged = b.written_below(options.single_copy ? options.single_copy_from : SIZE_MAX);
    return {.staged = staged, .longest = staged, .offers = b.offers};
}

// The greater of each.
void raise(Needs& to, const Needs& other) {
    to = {std::max(to.staged, other.staged), std::max(to.longest, other.longest),
          std::max(to.scratch, other.scratch), std::max(to.offers, other.offers)};
}

}  // namespace

Planner::Planner(std::byte* base, int rank, int size, bool single_copy, SharedSlots::Capacity room, std::span<std::byte> scratch)
    : rank_(rank), size_(size), single_copy_(single_copy || !scratch.empty()), mapped_scratch_(scratch), shared_slots_(base, size, room) {
    options_.inlined = shared_slots_.payload_bytes();
    options_.single_copy = single_copy_;
    options_.single_copy_from = !scratch.empty() ? 0 : config().single_copy_from ? config().single_copy_from : CopySpeed::latest;
    options_.lent_from = scratch.empty() ? std::max<std::size_t>(config().lent_from, 1) : SIZE_MAX;
}

static_assert(most_offers == SharedSlots::offers_per_operation);

void Planner::copy_once_from(std::size_t bytes) { copied_once_from_ = config().single_copy_from ? 0 : bytes; }

BindOptions Planner::options_for(const Reach& reach) const {
    BindOptions options = options_;
    options.reach = reach;
    if (!reach.nodes) {
        if (copied_once_from_) options.single_copy_from = copied_once_from_;
        return options;
    }
    options.single_copy = reach.single_copy;
    // Alike on all nodes: the largest has the shortest cells.
    options.inlined = SharedSlots(nullptr, reach.nodes->sizes().second).payload_bytes();
    return options;
}

// What it returns is the same on all ranks: it depends on all of them.
Planner::Cut Planner::cut(const Algorithm& algorithm, const Problem& problem, BindOptions options) const {
    const std::size_t length = length_of(problem);
    const Reach& reach = options.reach;
    if (reach.no_one_is_near()) return {cut_for_windows(algorithm, problem, reach), false};
    // Of several nodes the largest has the least room for each rank, and the smallest needs the most.
    const auto [smallest, largest] = reach.nodes ? reach.nodes->sizes() : std::pair(size_, size_);
    const SharedSlots slots = reach.nodes ? SharedSlots(nullptr, smallest) : shared_slots_;
    const std::size_t area = std::min(slots.staging_bytes(), reach.nodes ? SharedSlots(nullptr, largest).staging_bytes() : SIZE_MAX);
    const bool oversubscribed = reach.nodes ? reach.oversubscribed : this->oversubscribed();
    // Of a reduction over nodes the last bits may follow from the pieces, which must not follow from what is found at
    // the start: whether data is copied once, and whether ranks share cores.
    if (reach.nodes && reduces(problem.operation)) options.single_copy = false;
    const std::size_t all_staged = options.single_copy ? std::min(area, options.single_copy_from) : area;
    std::size_t longest = default_piece(problem.operation, length, oversubscribed || reach.nodes);
    if (config().piece) longest = config().piece;
    if (problem.parameters.piece) longest = problem.parameters.piece;
    else if (!mapped_scratch_.empty()) longest = std::max(longest, room_for_scratch());
    std::size_t begin_with = longest;
    if (reach.nodes && config().piece == 0 && problem.parameters.piece == 0) begin_with = piece_between_nodes(problem.operation);
    // What asks for pieces is also cut where nothing needs staging.
    const bool may_be_whole = (!algorithm.pipelined && problem.parameters.piece == 0 && !reach.nodes) || length <= begin_with;
    const bool all_inlined = total_bytes(problem) <= options.inlined && family_of(problem.operation) != Family::neighbors;
    // What asking all ranks would say as well, said sooner.  Not of levels or files, which may make more offers than have room.
    const bool all_short = staging_bound(problem) < all_staged && total_bytes(problem) <= longest;
    if (may_be_whole && !algorithm.levels && (all_inlined || all_short)) return {length, false};
    // Pieces between nodes overlap.
    const std::size_t room = area * (oversubscribed && !reach.nodes ? slots.areas() : 1);
    const auto fits = [&](const Needs& n, std::size_t message) {
        return n.staged <= room && n.longest <= message && n.scratch <= room_for_scratch() && n.offers <= SharedSlots::offers_per_operation;
    };
    int offers = 0;  // the most that were seen
    bool linear = true;  // so far a schedule said of all ranks what they need
    // What does not fit one rank need not be asked of all.
    const auto needs = [&](std::size_t bytes, std::size_t message) {
        // A shorter piece may need more: what is too short to be copied once is staged, and an algorithm may take
        // another way.
        Needs most;
        for (const Pieces& alike : pieces_of(problem, bytes)) {
            Problem p = piece_of(problem, bytes, alike.first);
            // Some schedules say of all ranks what they need at most; where that is too much they are asked.  Between nodes
            // only what is composed: of others some of what is put goes by messages, from each rank another part.
            const bool may_say = algorithm.levels || (!algorithm.alike && !reach.nodes);
            if (may_say && mapped_scratch_.empty()) {
                Schedule own = algorithm.schedule(p);
                const Needs bound = own.bounds.alike ? needs_of(own, p.rank, slots, options) : bound_of(own.bounds, options);
                const bool says_it_all = own.bounds.exact || own.bounds.alike;
                const bool is_enough = says_it_all || (own.bounds.known && bound.staged <= std::min(area, longest) && bound.offers <= SharedSlots::offers_per_operation);
                Builder::recycle(std::move(own));
                if (is_enough) {
                    linear &= says_it_all;
                    raise(most, bound);
                    continue;
                }
            }
            linear = false;
            const auto some = neediest(p);
            const bool all = !algorithm.alike || reach.nodes || p.size <= few_ranks;
            for (int i = 0; i < (all ? p.size : std::ssize(some)); ++i) {
                p.rank = all ? i : some[static_cast<std::size_t>(i)];
                Schedule s = algorithm.schedule(p);
                raise(most, needs_of(s, p.rank, slots, options));
                Builder::recycle(std::move(s));
                offers = std::max(offers, most.offers);
                if (!fits(most, message)) return most;
            }
        }
        return most;
    };
    const auto cut_at = [&](std::size_t bytes, const Needs& n) { return Cut{bytes, n.staged > area}; };
    const Needs whole = needs(length, room);
    // As it is when all that is long is read from its owner.
    if (may_be_whole && fits(whole, longest)) return cut_at(length, whole);
    const std::size_t unit = std::max<std::size_t>(problem.element, 1);
    // Of many offers the shortest pieces make as few as any.
    const bool may_fit = whole.offers <= SharedSlots::offers_per_operation || needs(unit, longest).offers <= SharedSlots::offers_per_operation;
    std::size_t asked = length;
    Needs needed = whole;
    for (std::size_t bytes = std::min(begin_with, length); may_fit; bytes /= 2) {
        // Where a schedule says it all, what is cut in shorter pieces needs no less in all.
        if (linear && bytes / 2 >= unit && needed.staged / ((asked + bytes - 1) / bytes) > room) continue;
        asked = std::max(bytes / unit, std::size_t{1}) * unit;
        needed = needs(asked, longest);
        if (fits(needed, longest)) return cut_at(asked, needed);
        if (asked == unit) break;
    }
    // A buffer of all blocks that is offered whole is no shorter for being cut in pieces.
    if (fits(whole, room)) return cut_at(length, whole);
    const std::string name = std::string(to_string(problem.operation)) + ":" + std::string(algorithm.name);
    if (offers > SharedSlots::offers_per_operation)
        throw std::invalid_argument(name + " would make " + std::to_string(offers) + " offers in one operation; there is room for " +
                                    std::to_string(SharedSlots::offers_per_operation));
    throw std::invalid_argument(name + " would have to stage a whole buffer of all ranks' blocks, " + std::to_string(total_bytes(problem)) +
                                " bytes; there is room for " + std::to_string(room) + " (it serves longer ones where single copy is allowed)");
}

// Messages may be of any length; windows have room for so much.
std::size_t Planner::cut_for_windows(const Algorithm& algorithm, const Problem& problem, const Reach& reach) const {
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
    Schedule schedule = algorithm.schedule(p);
    if (options.reach.nodes) {
        const Exchange messages = exchange(algorithm, p, options.reach);
        bind(schedule, p.rank, called, p.element, shared_slots_, options, bound, &messages);
    } else {
        bind(schedule, rank_, called, p.element, shared_slots_, options, bound);
    }
    Builder::recycle(std::move(schedule));
}

void Planner::plan_pieces(const Algorithm& algorithm, const Problem& problem, Cut cut, const BindOptions& options, Plan& plan) const {
    const Reach& reach = options.reach;
    plan.lengths = nullptr;
    name(plan, algorithm, problem, reach);
    plan.piece_bytes = cut.bytes;
    const bool whole = plan.whole = length_of(problem) <= cut.bytes;
    const std::vector<Pieces> pieces = whole ? std::vector{Pieces{0, 1}} : pieces_of(problem, cut.bytes);
    plan.parts.resize(pieces.size());
    constexpr std::size_t most_in_flight = 16;
    const bool by_messages = reach.nodes && reach.transport == Transport::message;
    plan.in_flight = whole || !by_messages ? 1 : std::min(remote_->operations_in_flight(), most_in_flight);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Problem p = whole ? problem : piece_of(problem, cut.bytes, pieces[i].first);
        bind_piece(algorithm, p, plan.called, options, plan.parts[i].schedule);
        plan.parts[i].schedule.uses_all_areas = cut.uses_all_areas;
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
}

// How each block is moved.  Of a problem in which one is empty, or too long, these are not its own steps.
void Planner::keep_moves(const Algorithm& algorithm, const Problem& problem, const BindOptions& options, Plan& plan) const {
    const Operation o = problem.operation;
    const bool can_be = o == Operation::allgatherv || o == Operation::gatherv || o == Operation::scatterv || o == Operation::alltoallv;
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
        plan.moves.uses_all_areas = own.uses_all_areas;
        if (!moves_blocks_whole(short_ones, plan.moves)) return;
    }
    plan.rebinds_counts_to = longest;
}

std::size_t Planner::longest_rebound(const Problem& p, const BindOptions& options) const {
    std::size_t longest = std::min(default_piece(p.operation, 0, oversubscribed()), shared_slots_.staging_bytes());
    for (const std::size_t piece : {options.piece, p.parameters.piece, config().piece})
        if (piece) longest = std::min(longest, piece);
    if (!options.single_copy) return longest;
    return options.single_copy_from ? std::min(longest, options.single_copy_from - 1) : 0;
}

void Planner::plan(const Algorithm& algorithm, const Problem& problem, Plan& plan, const Reach& reach, MostNeighbors most) const {
    if (const std::string why = restriction(algorithm, problem); !why.empty()) throw std::invalid_argument(why);
    plan.placed = shared_slots_.base() ? placed_ : 0;
    if (lengths_are_unknown(problem.operation)) return plan_with_local_counts(algorithm, problem, share(algorithm, reach, most), reach, plan);
    const BindOptions options = options_for(reach);
    plan_pieces(algorithm, problem, cut(algorithm, problem, options), options, plan);
}

Plan Planner::plan(const Algorithm& algorithm, const Problem& problem, const Reach& reach, MostNeighbors most) const {
    Plan result;
    plan(algorithm, problem, result, reach, most);
    return result;
}

namespace {

std::size_t lines_in(std::size_t bytes) { return bytes / 64 * 64; }

}  // namespace

// Each peer has as many slots in the staging as cells.
std::size_t Planner::longest_piece(const Share& share, const SharedSlots& slots) {
    const std::size_t room = slots.staging_bytes() * (share.uses_all_areas ? slots.areas() : 1);
    return lines_in(room / std::max<std::size_t>(share.most.peers, 1) / static_cast<std::size_t>(slots.depth()));
}

// Alike on all nodes: the largest has the least room for each rank.
bool Planner::plans_any(const Algorithm& algorithm, const Reach& reach, MostNeighbors most) const {
    constexpr std::size_t shortest = 128;  // shorter ones are mostly flags
    if (reach.nodes && most.edges > RemoteTransport::most_messages) return false;
    if (reach.nodes ? reach.single_copy || reach.no_one_is_near() : single_copy_) return true;
    return algorithm.piecewise && longest_piece(share(algorithm, reach, most), reach.nodes ? SharedSlots(nullptr, reach.nodes->sizes().second) : shared_slots_) >= shortest;
}

void Planner::plan_with_local_counts(const Algorithm& algorithm, const Problem& problem, const Share& share, const Reach& reach, Plan& plan) const {
    Problem p = problem;
    BindOptions options = options_for(reach);
    options.lends_offers = family_of(p.operation) != Family::neighbors;
    options.stage_at_reader = share.at_reader;
    if (share.at_reader && p.rank != p.root) options.staged_from = lines_in(shared_slots_.staging_bytes() / share.writers) * (share.writers - 1);
    const std::size_t asked = p.parameters.piece ? p.parameters.piece : config().piece;
    const bool in_pieces = algorithm.piecewise && (!options.single_copy || asked);
    if (in_pieces) {
        options.single_copy = false;
        const std::size_t piece = longest_piece(share, shared_slots_);
        options.piece = asked ? std::min(asked, piece) : piece;
        // What is read is offered with all that lies between it, one block for each edge.
        const std::size_t room = lines_in(shared_slots_.staging_bytes() / std::max<std::size_t>(share.most.edges, 1));
        p.parameters.piece = std::clamp<std::size_t>(room, 1, options.piece);
    } else {
        // What is shorter finds room as it is.
        options.single_copy_from = std::min(options.single_copy_from, lines_in(shared_slots_.staging_bytes() / std::max<std::size_t>(share.most.edges, 1)));
    }
    if (lengths_first(algorithm) && p.topology.simplified().levels() > 0) plan_lengths(algorithm, p, in_pieces && share.uses_all_areas, options, plan);
    else plan_pieces(algorithm, p, {std::max<std::size_t>(length_of(p), 1), in_pieces && share.uses_all_areas}, options, plan);
}

// A rank of gatherv puts to one alone, and so is put to by one alone in scatterv, where the root may
// go on to the next operations.  In alltoallv all wait for all: there an operation may have all areas.  By levels
// a rank puts to its representative, or is put to by it, and to the root, or by it.
Planner::Share Planner::share(const Algorithm& algorithm, const Reach& reach, MostNeighbors most) const {
    if (family_of(algorithm.operation) == Family::neighbors) return {most};
    const bool exchange = algorithm.operation == Operation::alltoallv, at_reader = algorithm.operation == Operation::scatterv;
    const std::size_t ways = lengths_first(algorithm) ? 2 : 1;
    const int near = reach.nodes ? reach.nodes->sizes().second : size_;  // alike on all nodes
    const std::size_t peers = exchange ? static_cast<std::size_t>(near - 1) : ways;
    // A writer may put twice to one reader, and of two each has its half of the reader's area.
    return {{at_reader || exchange ? peers * ways : peers, peers}, exchange && near > 2, at_reader, ways};
}

// Two operations, of which the second has its steps when the first is over.
void Planner::plan_lengths(const Algorithm& algorithm, const Problem& problem, bool uses_all_areas, const BindOptions& options, Plan& plan) const {
    Plan made;
    made.placed = plan.placed;
    name(made, algorithm, problem, options.reach);
    made.parts.resize(2);
    made.parts.back().schedule.uses_all_areas = uses_all_areas;
    made.lengths = std::make_unique<Plan::Lengths>();
    Plan::Lengths& lengths = *made.lengths;
    lengths.problem = problem;
    lengths.options = options;
    lengths.places = places_of_lengths(problem);
    lengths.awaited = awaited_lengths(problem);
    lengths.heard.resize(lengths.places.size());
    if (problem.operation == Operation::alltoallv) lengths.problem.sends.resize(static_cast<std::size_t>(problem.size) + lengths.places.size());
    tell_lengths(problem, lengths);
    BindOptions whole = options_for(options.reach);
    whole.single_copy = false;
    bind_piece(*lengths_first(algorithm), problem_at(lengths_of(problem), problem.rank), made.called, whole, made.parts.front().schedule);
    plan = std::move(made);
}

void Planner::tell_lengths(const Problem& p, Plan::Lengths& lengths) {
    lengths.told.clear();
    if (p.operation == Operation::alltoallv) {
        const auto own = lengths.problem.sends.begin();
        lengths.bound = lengths.bound && lengths.problem.blocks == p.blocks && std::equal(p.sends.begin(), p.sends.end(), own);
        lengths.problem.blocks = p.blocks;
        std::copy(p.sends.begin(), p.sends.end(), own);
        for (const int r : lengths.places) lengths.told.push_back(p.sends[static_cast<std::size_t>(r)].bytes);
        return;
    }
    for (const int r : lengths.places) {
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
    for (const auto& [place, block] : lengths.awaited) {
        std::size_t& known = blocks_of_awaited(lengths.problem)[block].bytes;
        if (known == lengths.heard[place]) continue;
        known = lengths.heard[place];
        lengths.bound = false;
    }
    if (!lengths.bound) bind_piece(*plan.algorithm, lengths.problem, plan.called, lengths.options, lengths.blocks);
    lengths.blocks.uses_all_areas = plan.parts.back().schedule.uses_all_areas;
    lengths.bound = true;
}

}  // namespace fanlight

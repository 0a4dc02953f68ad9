// How all ranks alike cut a problem into pieces.
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/config.h"
#include "execute/planner.h"
#include "execute/staging.h"
#include "schedule/builder.h"
#include "schedule/composer.h"

namespace fanlight {

namespace {

// Of what goes over messages: long enough to be worth one, short enough that one leaves at once, which over TCP ends a
// little below 64 KiB (Open MPI; measured: up to twice as fast as just above), and that several overlap.  In slots a
// vector's piece is shared out among a node's ranks.
std::size_t piece_between_nodes(Operation operation) {
    constexpr std::size_t of_block = 56 * 1024, of_vector = 112 * 1024;
    return family_of(operation) == Family::vector ? of_vector : of_block;
}

// So many are all asked what they need.
constexpr int few_ranks = 32;
// What is over several nodes: the longest message that is staged inside a node.
constexpr std::size_t staged_of_nodes = 128 * 1024;

// All blocks, or the vector, of so many bytes are messages that cost a flag more than they cost by their length.
constexpr std::size_t short_in_all = 4096;

// No algorithm stages more than this in one run: every round of a tree or of a doubling
// passes on at most everything, and there are no more rounds than log2(size) and the fold.
// The root of a bcast may put everything to everybody, and so may that of a tree of many degrees.
std::size_t staging_bound(const Problem& p) {
    const auto size = static_cast<std::size_t>(p.size), rounds = static_cast<std::size_t>(std::bit_width(size));
    const bool to_everybody = p.operation == Operation::bcast || p.parameters.degree > 2;
    return (total_bytes(p) + 64 * size) * (to_everybody ? std::max(size, rounds + 2) : rounds + 2);
}

bool all_wait_for_all(Operation o) {
    return !has_root(o) && !is_prefix(o) && family_of(o) != Family::neighbors;
}

// The greater of each.
void raise(Needs& to, const Needs& other) {
    to = {std::max(to.staged, other.staged), std::max(to.longest, other.longest),
          std::max(to.scratch, other.scratch), std::max(to.offers, other.offers),
          {std::max(to.window.bytes, other.window.bytes), std::max(to.window.flags, other.window.flags)}};
}

// A transport without windows has no limits.
bool fits(const RemoteRoom& n, const RemoteRoom& limits) {
    return limits.bytes == 0 || (n.bytes <= limits.bytes && n.flags <= limits.flags);
}

bool fits(const Needs& n, const Needs& limits) {
    return n.staged <= limits.staged && n.longest <= limits.longest && n.scratch <= limits.scratch && n.offers <= limits.offers && fits(n.window, limits.window);
}

// What all ranks of a problem need, from as few of their schedules as there must be.
class AllRanks {
public:
    // Who needs no more than `enough` bytes, by what a schedule says of all ranks, is not asked; 0: all are.
    AllRanks(const Algorithm& algorithm, const Problem& problem, const BindOptions& options, const SharedSlots& slots, std::size_t enough)
        : algorithm_(algorithm), problem_(problem), options_(options), slots_(slots), enough_(enough),
          staged_(Bounds::below(options.single_copy ? options.single_copy_from : SIZE_MAX)), likely_(problem.rank),
          may_say_((algorithm.has(property::levels) || (!algorithm.has(property::alike) && !options.reach.nodes)) && enough > 0) {}

    // At most, in pieces of so many bytes; of what does not fit only what shows that.
    Needs needs(std::size_t bytes, const Needs& limits) {
        // A shorter piece may need more: what is too short to be copied once is staged, and an algorithm may take
        // another way.
        Needs most;
        for (const Pieces& alike : pieces_of(problem_, bytes)) {
            Problem p = piece_of(problem_, bytes, alike.first);
            Schedule made;
            const int made_for = p.rank = likely_;
            if (may_say_) made = algorithm_.schedule(p);
            for (const int r : whom_to_ask(p, made, most)) {
                p.rank = r;
                Schedule s = may_say_ && r == made_for ? std::move(made) : algorithm_.schedule(p);
                raise(most, needs_of(s, r, slots_, options_));
                Builder::recycle(std::move(s));
                offers_ = std::max(offers_, most.offers);
                if (!fits(most, limits)) return most;
            }
            if (made.steps.capacity() > 0) Builder::recycle(std::move(made));
        }
        return most;
    }
    // Whether a schedule said of all ranks what they need, whenever one was asked.
    bool were_all_said() const { return were_all_said_; }
    int most_offers() const { return offers_; }

private:
    Needs bound_of(const Bounds& b, std::size_t at_most = SIZE_MAX) const {
        const std::size_t staged = std::min(b.written[staged_], at_most);
        return {.staged = staged, .longest = staged, .offers = b.offers};
    }
    Needs bound_of(const BoundsOfKind& b) const { return bound_of(b.all, static_cast<std::size_t>(slots_.depth()) * b.at_one_time[staged_]); }
    bool is_enough(const Needs& n) const { return n.staged <= enough_ && n.offers <= SharedSlots::offers_per_operation; }

    // Some schedules say of all ranks what they need at most; where that is too much they are asked.  Between nodes
    // only what is composed: of others some of what is put goes by messages, from each rank another part.
    std::vector<int> whom_to_ask(const Problem& p, const Schedule& made, Needs& most) {
        const bool says_it_all = made.bounds.exact || made.bounds.alike;
        were_all_said_ &= says_it_all;
        const Needs bound = made.bounds.alike ? needs_of(made, p.rank, slots_, options_) : bound_of(made.bounds);
        if (says_it_all || (made.bounds.known && is_enough(bound))) {
            raise(most, bound);
            return {};
        }
        if (!made.kinds.empty()) return whom_to_ask_by_kinds(made, most);
        if (algorithm_.has(property::alike) && !options_.reach.nodes && p.size > few_ranks) return neediest(p);
        std::vector<int> all(static_cast<std::size_t>(p.size));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    // Whose kind may need more; the neediest first, which it is likely to be again in shorter pieces.
    std::vector<int> whom_to_ask_by_kinds(const Schedule& made, Needs& most) {
        std::vector<Needs> bounds;
        for (const BoundsOfKind& b : made.kinds) bounds.push_back(bound_of(b));
        const auto bound = [&](int rank) -> const Needs& { return bounds[made.kind_of[static_cast<std::size_t>(rank)]]; };
        std::vector<int> asked;
        for (int r = 0; r < problem_.size; ++r) {
            if (!is_enough(bound(r))) asked.push_back(r);
            else raise(most, bound(r));
        }
        std::ranges::stable_sort(asked, std::greater(), [&](int r) { return bound(r).staged; });
        if (!asked.empty()) likely_ = asked.front();
        return asked;
    }

    const Algorithm& algorithm_;
    const Problem& problem_;
    const BindOptions& options_;
    const SharedSlots& slots_;
    const std::size_t enough_;
    const std::size_t staged_;  // which of Bounds::written is
    int likely_;  // whose schedule is made first
    const bool may_say_;
    Composer::OfAllRanks once_;
    bool were_all_said_ = true;
    int offers_ = 0;  // the most that were seen
};

}  // namespace

// The longest message that is staged, and the piece that cutting begins with: long enough to hide the
// flags; where one rank copies in and others copy out, short enough that the two overlap.  Where all
// ranks do both nothing is gained by that, and short pieces cost more.  Where ranks share a core nothing
// overlaps, and each piece costs a switch of contexts; but long ones no longer fit in the cache.  So
// the lengths there were measured.
std::size_t Planner::staged_piece(Operation operation, std::size_t length, bool oversubscribed) {
    constexpr std::size_t shortest = 32 * 1024, usual = 128 * 1024, both_ways_longest = 256 * 1024;
    const bool one_way = operation == Operation::bcast || operation == Operation::scatter || operation == Operation::reduce;
    if (oversubscribed) return usual * (operation == Operation::allreduce ? 4 : operation == Operation::reduce_scatter_block ? 2 : 1);
    if (one_way) return std::clamp(length / 4, shortest, one_way_longest);
    return all_wait_for_all(operation) ? both_ways_longest : usual;
}

// What it returns is the same on all ranks: it depends on all of them.
Planner::Cut Planner::cut(const Algorithm& algorithm, const Problem& problem, BindOptions options) const {
    const std::size_t length = length_of(problem);
    const Reach& reach = options.reach;
    if (reach.no_one_is_near() && reach.by_messages()) return {length, false};  // which may be of any length
    // Of several nodes the largest has the least room for each rank, and the smallest needs the most.
    const auto [smallest, largest] = reach.nodes ? reach.nodes->sizes() : std::pair(size_, size_);
    const SharedSlots slots = reach.nodes ? SharedSlots(nullptr, smallest) : shared_slots_;
    const std::size_t area = std::min(slots.staging_bytes(), reach.nodes ? SharedSlots(nullptr, largest).staging_bytes() : SIZE_MAX);
    const bool oversubscribed = reach.nodes ? reach.oversubscribed : this->oversubscribed();
    // Of a reduction over nodes the last bits may follow from the pieces, which must not follow from what is found at
    // the start: whether data is copied once, and whether ranks share cores.
    if (reach.nodes && reduces(problem.operation)) options.single_copy = false;
    const std::size_t all_staged = options.single_copy ? std::min(area, options.single_copy_from) : area;
    std::size_t longest = reach.nodes ? staged_of_nodes : staged_piece(problem.operation, length, oversubscribed);
    if (config().piece) longest = config().piece;
    if (problem.parameters.piece) longest = problem.parameters.piece;
    else if (!mapped_scratch_.empty()) longest = std::max(longest, room_for_scratch());
    std::size_t begin_with = longest;
    if (reach.by_messages() && config().piece == 0 && problem.parameters.piece == 0) begin_with = piece_between_nodes(problem.operation);
    // What asks for pieces is also cut where nothing needs staging.
    const bool may_be_whole = (!algorithm.has(property::pipelined) && problem.parameters.piece == 0 && !reach.by_messages()) || length <= begin_with;
    const bool all_inlined = total_bytes(problem) <= options.inlined && family_of(problem.operation) != Family::neighbors;
    // What asking all ranks would say as well, said sooner.  Not of levels or files, which may make more offers than have room.
    const bool all_short = staging_bound(problem) < all_staged && total_bytes(problem) <= longest;
    if (may_be_whole && !algorithm.has(property::levels) && !reach.over_windows() && (all_inlined || all_short)) return {length, false};
    // What is short costs its flags, and two pieces have twice as many; they would have as many areas.  Where not all wait
    // for all an operation leaves areas to the next one.  Pieces between nodes overlap.
    const bool is_short = may_be_whole && total_bytes(problem) <= short_in_all && all_wait_for_all(problem.operation);
    const std::size_t room = area * ((oversubscribed || is_short) && !reach.nodes ? slots.areas() : 1);
    Needs limits{room, std::min(room, longest_staged_put), room_for_scratch(), SharedSlots::offers_per_operation, {}};
    if (reach.over_windows()) limits.window = remote(reach)->room();
    AllRanks ranks(algorithm, problem, options, slots, mapped_scratch_.empty() && !reach.over_windows() ? std::min(area, longest) : 0);
    const auto cut_at = [&](std::size_t bytes, const Needs& n) { return Cut{bytes, n.staged > area}; };
    const Needs whole = ranks.needs(length, limits);
    const bool whole_fits = fits(whole, limits);
    limits.longest = std::min(longest, longest_staged_put);
    // As it is when all that is long is read from its owner.
    if (may_be_whole && fits(whole, limits)) return cut_at(length, whole);
    const std::size_t unit = std::max<std::size_t>(problem.element, 1);
    // Of many offers the shortest pieces make as few as any.
    const bool enough_flags = limits.window.bytes == 0 || whole.window.flags <= limits.window.flags;
    const bool may_fit = enough_flags && (whole.offers <= limits.offers || ranks.needs(unit, limits).offers <= limits.offers);
    std::size_t asked = length;
    Needs needed = whole;
    for (std::size_t bytes = std::min(begin_with, length); may_fit; bytes /= 2) {
        // Where a schedule says it all, what is cut in shorter pieces needs no less in all.
        if (ranks.were_all_said() && bytes / 2 >= unit && needed.staged / ((asked + bytes - 1) / bytes) > room) continue;
        asked = std::max(bytes / unit, std::size_t{1}) * unit;
        needed = asked == length ? whole : ranks.needs(asked, limits);
        if (fits(needed, limits)) return cut_at(asked, needed);
        if (asked == unit) break;
    }
    // A buffer of all blocks that is offered whole is no shorter for being cut in pieces.
    if (whole_fits) return cut_at(length, whole);
    const std::string name = std::string(to_string(problem.operation)) + ":" + std::string(algorithm.name);
    if (const int offers = ranks.most_offers(); offers > limits.offers)
        throw std::invalid_argument(name + " would make " + std::to_string(offers) + " offers in one operation; there is room for " +
                                    std::to_string(limits.offers));
    if (!fits(whole.window, limits.window))
        throw std::invalid_argument(name + " needs more than a window's " + std::to_string(limits.window.bytes) + " bytes and " +
                                    std::to_string(limits.window.flags) + " flags");
    throw std::invalid_argument(name + " would have to stage a whole buffer of all ranks' blocks, " + std::to_string(total_bytes(problem)) +
                                " bytes; there is room for " + std::to_string(room) + " (it serves longer ones where they are copied once: FANLIGHT_SINGLE_COPY_FROM, or once= in a rule)");
}

}  // namespace fanlight

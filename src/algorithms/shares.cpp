#include "algorithms/shares.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>

#include "algorithms/levels.h"
#include "schedule/stages.h"

namespace fanlight {
namespace {

// How many domains meet at most where the topology has none.
constexpr int usual_degree = 4;
// Up to so many parts are put; of more each rank offers its own once.
constexpr std::size_t few_up = 4, few_down = 2;

// As even groups of at most `degree` as there can be, from the one domain on until that is one.
std::vector<std::vector<std::size_t>> divided(const std::vector<std::size_t>& from, const std::vector<std::size_t>& to, std::size_t degree) {
    std::vector<std::vector<std::size_t>> result;
    std::vector<std::size_t> starts = from;
    for (bool again = true; again;) {
        again = false;
        std::vector<std::size_t> next;
        for (std::size_t d = 0; d + 1 < to.size(); ++d) {
            const auto first = static_cast<std::size_t>(std::ranges::lower_bound(starts, to[d]) - starts.begin());
            const auto end = static_cast<std::size_t>(std::ranges::lower_bound(starts, to[d + 1]) - starts.begin());
            const std::size_t groups = (end - first + degree - 1) / degree;
            again |= groups > 1;
            for (std::size_t g = 0; g < groups; ++g) next.push_back(starts[first + (end - first) * g / groups]);
        }
        next.push_back(starts.back());
        result.push_back(starts = std::move(next));
    }
    return result;
}

}  // namespace

Division::Division(const Problem& problem) : place_(static_cast<std::size_t>(problem.size)) {
    const auto size = static_cast<std::size_t>(problem.size);
    const Topology topology = levels_in_order(problem);
    order_ = in_order_of_places(topology, problem.size);
    for (std::size_t p = 0; p < size; ++p) place_[static_cast<std::size_t>(order_[p])] = p;

    const std::size_t degree = problem.parameters.degree > 0 ? static_cast<std::size_t>(std::max(problem.parameters.degree, 2))
                               : topology.levels() > 0       ? size
                                                             : usual_degree;
    starts_.emplace_back(size + 1);
    std::iota(starts_[0].begin(), starts_[0].end(), std::size_t{0});
    for (int i = topology.levels(); i-- >= 0;) {
        std::vector<std::size_t> around{0};
        for (std::size_t p = 1; p < size && i >= 0; ++p)
            if (!topology.level(i).share(order_[p - 1], order_[p])) around.push_back(p);
        around.push_back(size);
        for (auto& starts : divided(starts_.back(), around, degree))
            if (starts != starts_.back()) starts_.push_back(std::move(starts));
    }
}

std::pair<std::size_t, std::size_t> Division::inside(std::size_t level, std::size_t d) const {
    const auto at = [&](std::size_t place) { return static_cast<std::size_t>(std::ranges::lower_bound(starts_[level], place) - starts_[level].begin()); };
    const auto [first, last] = places(level + 1, d);
    return {at(first), at(last)};
}

std::size_t Division::domain_of(std::size_t level, int rank) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(starts_[level], place(rank)) - starts_[level].begin()) - 1;
}

Shares::Shares(const Problem& problem) : Division(problem), problem_(problem), b_(problem), levels_(levels()), told_(static_cast<std::size_t>(problem.size)) {
    for (std::size_t s = 0; s < levels_.size(); ++s) {
        divide(s);
        const Level& level = levels_[s];
        // All ranks have the same places.
        const std::size_t most = level.most_held();
        const bool inner = s > 0 && fanlight::reduces(problem.operation);
        std::size_t slots = 0;
        for (const Kind& k : level.kinds)
            if (inner && k.parts.size() > 2 && k.parts.size() <= few_up) slots = std::max(slots, k.parts.size() - 2);
        const bool all_output = problem.operation != Operation::reduce && level.all_in_one();
        partial_.push_back(b_.reserve(inner && s + 1 < levels_.size() ? most : 0));
        slots_.push_back(b_.reserve(slots * most));
        complete_.push_back(b_.reserve(s > 0 && !all_output ? most : 0));
    }
}

std::size_t Shares::Level::most_held() const {
    std::size_t most = 0;
    for (const Kind& k : kinds) most = std::max(most, std::ranges::max(k.held));
    return most;
}

bool Shares::Level::all_in_one() const {
    return std::ranges::all_of(kinds, [](const Kind& k) { return std::ranges::all_of(k.in_one, std::identity{}); });
}

// The kinds of this level's domains, from those of the level below.
void Shares::divide(std::size_t s) {
    Level& level = levels_[s];
    level.kind_of.resize(domains(s));
    const bool rooted = has_root(problem_.operation);
    const std::size_t root = rooted ? place(problem_.root) : SIZE_MAX;
    std::map<std::vector<std::size_t>, std::size_t> known;
    std::vector<std::size_t> key;
    for (std::size_t d = 0; d < level.kind_of.size(); ++d) {
        const auto [begin, end] = places(s, d);
        const auto [first, last] = s == 0 ? std::pair(d, d + 1) : inside(s - 1, d);
        if (s == 0) {
            key.assign(1, begin == root);
        } else {
            key.assign(levels_[s - 1].kind_of.begin() + static_cast<std::ptrdiff_t>(first), levels_[s - 1].kind_of.begin() + static_cast<std::ptrdiff_t>(last));
        }
        const auto [it, is_new] = known.try_emplace(key, level.kinds.size());
        level.kind_of[d] = it->second;
        if (!is_new) continue;
        Kind& k = level.kinds.emplace_back();
        const std::size_t ranks = end - begin;
        k.root = begin <= root && root < end ? root - begin : ranks;
        k.held.assign(ranks, 0);
        if (s == 0) {
            k.in_one = {true};
            k.since = {0};
            k.segments = {{0, problem_.bytes, 0, 0}};
            continue;
        }
        for (std::size_t c = first; c < last; ++c) {
            const Kind& part = kind(s - 1, c);
            k.parts.push_back({levels_[s - 1].kind_of[c], places(s - 1, c).first - begin});
            // What once lies in the output stays there.
            k.in_one.insert(k.in_one.end(), part.in_one.begin(), part.in_one.end());
        }
        k.since.assign(ranks, s);
        if (k.parts.size() == 1) k.since = levels_[s - 1].kinds[k.parts[0].kind].since;
        share_out(k, s);
    }
}

void Shares::share_out(Kind& k, std::size_t s) const {
    const std::size_t element = std::max<std::size_t>(problem_.element, 1), ranks = k.ranks();
    const auto segments = [&](std::size_t c) -> const std::vector<Segment>& { return levels_[s - 1].kinds[k.parts[c].kind].segments; };
    std::vector<std::size_t> end(ranks, 0), next(k.parts.size(), 0);  // of each one's segments
    for (std::size_t at = 0; at < problem_.bytes;) {
        // What has the same owner in each, and each one's share of it.
        std::size_t bytes = problem_.bytes - at;
        for (std::size_t c = 0; c < k.parts.size(); ++c) {
            std::size_t& n = next[c];
            while (segments(c)[n].offset + segments(c)[n].bytes <= at) ++n;
            bytes = std::min(bytes, segments(c)[n].offset + segments(c)[n].bytes - at);
        }
        const std::size_t begin = at;
        for (std::size_t c = 0; c < k.parts.size(); ++c) {
            const std::size_t before = c + 1 == k.parts.size() ? ranks : k.parts[c + 1].begin;
            const std::size_t until = c + 1 == k.parts.size() ? begin + bytes : begin + bytes / element * before / ranks * element;
            if (until == at) continue;
            const std::size_t o = k.parts[c].begin + segments(c)[next[c]].owner;
            k.segments.push_back({at, until - at, o, k.held[o]});
            if (k.held[o] > 0 && end[o] != at) k.in_one[o] = false;
            k.held[o] += until - at;
            end[o] = at = until;
        }
    }
}

Address Shares::partial(const Kind& k, const Segment& g, std::size_t offset) const {
    const std::size_t since = k.since[g.owner];
    if (since == 0) return input(offset);
    return since + 1 == levels_.size() ? complete(k, g, offset) : partial_[since] + (g.packed + offset - g.offset);
}

Address Shares::complete(const Kind& k, const Segment& g, std::size_t offset) const {
    const bool is_root = g.owner == k.root;
    if (problem_.operation == Operation::bcast && is_root) return input(offset);
    const std::size_t since = k.since[g.owner];
    const bool has_output = problem_.operation != Operation::reduce || is_root;
    if (since == 0 || (has_output && k.in_one[g.owner])) return output(offset);
    return complete_[since] + (g.packed + offset - g.offset);
}

bool Shares::puts(const Kind& around, bool reduces) { return around.parts.size() <= (reduces ? few_up : few_down); }

bool Shares::takes_part(std::size_t s, const Kind& around, std::size_t c, bool up, bool reduces) const {
    const Kind& k = levels_[s].kinds[around.parts[c].kind];
    const bool with_root = k.root < k.ranks();
    if (up) return reduces || with_root;
    return problem_.operation == Operation::allreduce || with_root == (problem_.operation == Operation::reduce);
}

const Shares::Segment& Shares::of_part(std::size_t s, const Kind& around, std::size_t c, std::size_t offset) const {
    const std::vector<Segment>& segments = levels_[s].kinds[around.parts[c].kind].segments;
    return *(std::ranges::upper_bound(segments, offset, {}, &Segment::offset) - 1);
}

std::vector<Shares::Move> Shares::moves_of(std::size_t place, std::size_t s, const Kind& around, bool up, bool reduces) const {
    std::vector<Move> result;
    const auto move = [&](std::size_t c, const Segment& g, const Segment& part) {
        const Kind& k = levels_[s].kinds[around.parts[c].kind];
        const std::size_t owner = around.parts[c].begin + part.owner;
        const Address inner = reduces ? partial(k, part, g.offset) : complete(k, part, g.offset);
        const Address outer = reduces ? partial(around, g, g.offset) : complete(around, g, g.offset);
        if (up) result.push_back({owner, g.owner, inner, outer, g.bytes, c, g.packed});
        else result.push_back({g.owner, owner, outer, inner, g.bytes, c, part.packed});
    };
    std::size_t own = around.parts.size() - 1;
    while (around.parts[own].begin > place) --own;
    const bool own_takes_part = takes_part(s, around, own, up, reduces);
    const Segment* part = levels_[s].kinds[around.parts[own].kind].segments.data();
    for (const Segment& g : around.segments) {
        while (part->offset + part->bytes <= g.offset) ++part;
        if (g.owner == place) {
            for (std::size_t c = 0; c < around.parts.size(); ++c)
                if (takes_part(s, around, c, up, reduces)) move(c, g, of_part(s, around, c, g.offset));
        } else if (own_takes_part && around.parts[own].begin + part->owner == place) {
            move(own, g, *part);
        }
    }
    return result;
}

// Of few parts: each segment is put from them, or to them.
std::vector<Bounds> Shares::told_of_puts(std::size_t s, const Kind& around, bool up, bool reduces) const {
    std::vector<Bounds> result(around.ranks());
    for (std::size_t c = 0; c < around.parts.size(); ++c) {
        if (!takes_part(s, around, c, up, reduces)) continue;
        const Segment* part = levels_[s].kinds[around.parts[c].kind].segments.data();
        for (const Segment& g : around.segments) {
            while (part->offset + part->bytes <= g.offset) ++part;
            const std::size_t owner = around.parts[c].begin + part->owner;
            if (owner != g.owner) result[up ? owner : g.owner].add(g.bytes);
        }
    }
    return result;
}

std::vector<Bounds> Shares::told(std::size_t s, const Kind& around, bool up, bool reduces) const {
    if (puts(around, reduces)) return told_of_puts(s, around, up, reduces);
    std::vector<Bounds> result(around.ranks());
    // What is offered: all between the first and the last byte that another one gets, in ascending order.
    struct Offered {
        Address first;
        std::size_t end = 0;
    };
    std::vector<Offered> offered(around.ranks());
    const auto offer = [&](std::size_t from, Address first, Address last, std::size_t bytes) {
        Offered& o = offered[from];
        if (o.end == 0) o.first = first;
        o.end = last.offset + bytes;
    };
    std::vector<std::size_t> taking_part;
    for (std::size_t c = 0; c < around.parts.size(); ++c)
        if (takes_part(s, around, c, up, reduces)) taking_part.push_back(c);
    for (const std::size_t c : up ? taking_part : std::vector<std::size_t>()) {
        const Kind& k = levels_[s].kinds[around.parts[c].kind];
        auto g = around.segments.begin();
        for (const Segment& part : k.segments) {
            // Without what it keeps.
            const std::size_t from = around.parts[c].begin + part.owner;
            const auto behind = std::ranges::lower_bound(g, around.segments.end(), part.offset + part.bytes, {}, &Segment::offset);
            const auto other = [&](const Segment& to) { return to.owner != from; };
            const auto first = std::find_if(g, behind, other);
            auto last = behind;
            while (last != first && !other(*(last - 1))) --last;
            g = behind;
            if (first == last) continue;
            const auto at = [&](std::size_t offset) { return reduces ? partial(k, part, offset) : complete(k, part, offset); };
            offer(from, at(first->offset), at((last - 1)->offset), (last - 1)->bytes);
        }
    }
    for (const Segment& g : around.segments) {
        // A rank is in one part alone, so that of two another one gets it.
        const auto is_got_by = [&](std::size_t c) { return taking_part.size() > 1 || around.parts[c].begin + of_part(s, around, c, g.offset).owner != g.owner; };
        if (up || taking_part.empty() || !is_got_by(taking_part.front())) continue;
        const Address at = complete(around, g, g.offset);
        offer(g.owner, at, at, g.bytes);
    }
    for (std::size_t i = 0; i < offered.size(); ++i) {
        if (offered[i].end == 0) continue;
        result[i].offers = 1;
        result[i].add(offered[i].end - offered[i].first.offset);
    }
    return result;
}

void Shares::meet(std::size_t s, bool up, bool reduces) {
    const std::size_t own = domain_of(s + 1, problem_.rank);
    if (const Kind& around = kind(s + 1, own); around.parts.size() > 1)
        pass_on(moves_of(place(problem_.rank) - places(s + 1, own).first, s, around, up, reduces), s, own, reduces);

    std::vector<std::vector<Bounds>> told_in;
    for (const Kind& k : levels_[s + 1].kinds) told_in.push_back(k.parts.size() > 1 ? told(s, k, up, reduces) : std::vector<Bounds>{});
    for (std::size_t d = 0; d < domains(s + 1); ++d) {
        Bounds* to = &told_[places(s + 1, d).first];
        for (const Bounds& b : told_in[levels_[s + 1].kind_of[d]]) *to++ += b;
    }
}

void Shares::pass_on(const std::vector<Move>& moves, std::size_t s, std::size_t d, bool reduces) {
    const Kind& around = kind(s + 1, d);
    const std::size_t begin = places(s + 1, d).first, here = place(problem_.rank) - begin;
    const bool put = puts(around, reduces);
    const auto rank_of = [&](std::size_t place) { return rank_at(begin + place); };
    const auto part_of = [&](std::size_t place) {
        std::size_t c = around.parts.size() - 1;
        while (around.parts[c].begin > place) --c;
        return c;
    };
    // The part that a rank takes first; where its own is the first, it is combined with the second one, without a copy.
    const auto begins = [](std::size_t own) { return own == 0 ? std::size_t{1} : 0; };
    const std::size_t most = levels_[s + 1].most_held();
    // What else is put waits beside it.
    const auto place_of = [&](const Move& m) {
        const std::size_t own = reduces ? part_of(m.to) : 0;
        if (!reduces || m.part == begins(own)) return m.target;
        return slots_[s + 1] + ((m.part - 1 - (m.part > own)) * most + m.packed);
    };

    std::vector<int> readers;
    std::size_t from = SIZE_MAX, until = 0;
    Address offered;
    for (const Move& m : moves) {
        if (m.from != here || m.to == here) continue;
        if (put) {
            b_.put(rank_of(m.to), m.source, place_of(m), m.bytes);
            continue;
        }
        if (std::ranges::find(readers, rank_of(m.to)) == readers.end()) readers.push_back(rank_of(m.to));
        if (m.source.offset < from) offered = m.source;
        from = std::min(from, m.source.offset);
        until = std::max(until, m.source.offset + m.bytes);
    }
    if (!readers.empty()) b_.offer(offered, until - from, readers);

    const auto get = [&](const Move& m, Order order) { b_.get(rank_of(m.from), told_[begin + m.from].offers, m.source, m.target, m.bytes, order); };
    for (const Move& m : moves) {
        if (m.to != here) continue;
        if (m.from == here && !reduces && m.source != m.target) b_.copy(m.source, m.target, m.bytes);
        if (m.from == here) continue;
        if (put) b_.arrive(rank_of(m.from), place_of(m), m.bytes);
        else if (!reduces) get(m, Order::overwrite);
    }
    if (put || !reduces) b_.next_round();
    if (!reduces) return;

    std::vector<Move> taken;
    std::ranges::copy_if(moves, std::back_inserter(taken), [&](const Move& m) { return m.to == here; });
    std::ranges::stable_sort(taken, {}, &Move::part);
    const std::size_t own = part_of(here), count = around.parts.size();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t part = own == 0 && i < 2 ? 1 - i : i;
        const Order order = i == 0 ? Order::overwrite : part == 0 ? Order::before : Order::after;
        for (const Move& m : std::ranges::equal_range(taken, part, {}, &Move::part)) {
            if (!put && m.from != here) get(m, order);
            else if (i > 0) b_.combine(m.from == here ? m.source : place_of(m), m.target, m.bytes, order);
        }
        b_.next_round();
    }
}

void Shares::reduce_up() {
    for (std::size_t s = 0; s + 1 < levels_.size(); ++s) meet(s, true, true);
}

void Shares::scatter_up() {
    for (std::size_t s = 0; s + 1 < levels_.size(); ++s) meet(s, true, false);
}

void Shares::gather_down() {
    for (std::size_t s = levels_.size() - 1; s-- > 0;) meet(s, false, false);
    if (problem_.size == 1 || (problem_.operation == Operation::bcast && problem_.rank == problem_.root)) b_.copy(input(), output(), problem_.bytes);
}

Schedule Shares::finish() {
    Schedule result = b_.finish();
    for (const Bounds& b : told_) result.bounds.raise(b);
    result.bounds.known = result.bounds.exact = true;
    return result;
}

}  // namespace fanlight

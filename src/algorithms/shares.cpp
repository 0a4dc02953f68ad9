#include "algorithms/shares.h"

#include <algorithm>
#include <numeric>

#include "schedule/stages.h"

namespace fanlight {
namespace {

// How many domains meet at most where the topology has none.
constexpr int usual_degree = 4;
// Up to so many parts are put; of more each rank offers its own once.
constexpr std::size_t few_up = 4, few_down = 2;

Stages places_of(const Problem& problem) {
    Topology topology = problem.topology.simplified();
    const auto blocked = [](const Domains& d) { return d.blocked(); };
    if (reduces(problem.operation) && !problem.commutative && !std::ranges::all_of(topology.all(), blocked)) topology = {};
    return Stages(std::move(topology), problem.size, -1, false);
}

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
    const Stages stages = places_of(problem);
    order_ = stages.order();
    for (std::size_t p = 0; p < size; ++p) place_[static_cast<std::size_t>(order_[p])] = p;

    const Topology& topology = stages.topology();
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

bool Division::is_around(std::size_t level, std::size_t d, int rank) const {
    const auto [first, last] = places(level, d);
    return first <= place(rank) && place(rank) < last;
}

Shares::Shares(const Problem& problem) : Division(problem), problem_(problem), b_(problem), levels_(levels()), offers_(static_cast<std::size_t>(problem.size), 0) {
    const auto size = static_cast<std::size_t>(problem.size);
    for (std::size_t s = 0; s < levels_.size(); ++s) {
        Level& level = levels_[s];
        level.held.assign(size, 0);
        level.since.assign(size, s);
        if (s > 0) {
            share_out(s);
        } else {
            level.in_one.assign(size, true);
            for (std::size_t p = 0; p < size; ++p) level.segments.push_back({{0, problem.bytes, rank_at(p), 0}});
        }
        // All ranks have the same places.
        const std::size_t most = std::ranges::max(level.held);
        const bool inner = s > 0 && fanlight::reduces(problem.operation);
        std::size_t slots = 0;
        for (std::size_t d = 0; inner && d < level.segments.size(); ++d) {
            const std::size_t meet = inside(s - 1, d).second - inside(s - 1, d).first;
            if (meet > 2 && meet <= few_up) slots = std::max(slots, meet - 2);
        }
        const bool all_output = problem.operation != Operation::reduce && std::ranges::all_of(level.in_one, std::identity{});
        partial_.push_back(b_.reserve(inner && s + 1 < levels_.size() ? most : 0));
        slots_.push_back(b_.reserve(slots * most));
        complete_.push_back(b_.reserve(s > 0 && !all_output ? most : 0));
    }
}

void Shares::share_out(std::size_t s) {
    Level& level = levels_[s];
    const Level& below = levels_[s - 1];
    const std::size_t element = std::max<std::size_t>(problem_.element, 1), size = level.held.size();
    std::vector<std::size_t> end(size, 0);
    // What once lies in the output stays there.
    level.in_one = below.in_one;
    level.segments.resize(domains(s));
    for (std::size_t d = 0; d < level.segments.size(); ++d) {
        const auto [first, last] = inside(s - 1, d);
        std::vector<std::size_t> next(last - first, 0);  // of each one's segments
        const auto [begin_place, end_place] = places(s, d);
        const std::size_t ranks = end_place - begin_place;
        for (std::size_t at = 0; at < problem_.bytes;) {
            // What has the same owner in each, and each one's share of it.
            std::size_t bytes = problem_.bytes - at;
            for (std::size_t c = first; c < last; ++c) {
                std::size_t& n = next[c - first];
                while (below.segments[c][n].offset + below.segments[c][n].bytes <= at) ++n;
                bytes = std::min(bytes, below.segments[c][n].offset + below.segments[c][n].bytes - at);
            }
            const std::size_t begin = at;
            for (std::size_t c = first; c < last; ++c) {
                const std::size_t before = places(s - 1, c).second - begin_place;
                const std::size_t until = c + 1 == last ? begin + bytes : begin + bytes / element * before / ranks * element;
                if (until == at) continue;
                const int owner = below.segments[c][next[c - first]].owner;
                const auto o = static_cast<std::size_t>(owner);
                level.segments[d].push_back({at, until - at, owner, level.held[o]});
                if (level.held[o] > 0 && end[o] != at) level.in_one[o] = false;
                level.held[o] += until - at;
                end[o] = at = until;
            }
        }
        if (last - first == 1)
            for (std::size_t p = begin_place; p < end_place; ++p) {
                const auto r = static_cast<std::size_t>(rank_at(p));
                level.since[r] = below.since[r];
            }
    }
}

void Shares::visit(std::size_t s, std::size_t d, const Visit& each) const {
    const auto [first, last] = inside(s, d);
    std::vector<std::size_t> next(last - first, 0);
    std::vector<const Segment*> parts(last - first);
    for (const Segment& g : levels_[s + 1].segments[d]) {
        for (std::size_t c = first; c < last; ++c) {
            const std::vector<Segment>& segments = levels_[s].segments[c];
            std::size_t& n = next[c - first];
            while (segments[n].offset + segments[n].bytes <= g.offset) ++n;
            parts[c - first] = &segments[n];
        }
        each(g, parts);
    }
}

Address Shares::partial(std::size_t s, const Segment& g, std::size_t offset) const {
    const std::size_t since = levels_[s].since[static_cast<std::size_t>(g.owner)];
    if (since == 0) return input(offset);
    return since + 1 == levels_.size() ? complete(s, g, offset) : partial_[since] + (g.packed + offset - g.offset);
}

Address Shares::complete(std::size_t s, const Segment& g, std::size_t offset) const {
    const auto owner = static_cast<std::size_t>(g.owner);
    const std::size_t since = levels_[s].since[owner];
    if (problem_.operation == Operation::bcast && g.owner == problem_.root) return input(offset);
    const bool has_output = problem_.operation != Operation::reduce || g.owner == problem_.root;
    if (since == 0 || (has_output && levels_[s].in_one[owner])) return output(offset);
    return complete_[since] + (g.packed + offset - g.offset);
}

std::vector<Shares::Move> Shares::moves(std::size_t s, std::size_t d, bool up, bool reduces) const {
    const std::size_t first = inside(s, d).first;
    std::vector<Move> result;
    visit(s, d, [&](const Segment& g, const std::vector<const Segment*>& parts) {
        for (std::size_t c = 0; c < parts.size(); ++c) {
            const Segment& part = *parts[c];
            const bool with_root = is_around(s, first + c, problem_.root);
            if (up && reduces) {
                result.push_back({part.owner, g.owner, partial(s, part, g.offset), partial(s + 1, g, g.offset), g.bytes, c, g.packed});
            } else if (up ? with_root : problem_.operation == Operation::allreduce || with_root == (problem_.operation == Operation::reduce)) {
                const Address inner = complete(s, part, g.offset), outer = complete(s + 1, g, g.offset);
                if (up) result.push_back({part.owner, g.owner, inner, outer, g.bytes, c, g.packed});
                else result.push_back({g.owner, part.owner, outer, inner, g.bytes, c, part.packed});
            }
        }
    });
    return result;
}

void Shares::meet(std::size_t s, bool up, bool reduces) {
    std::vector<bool> offers(offers_.size(), false);
    for (std::size_t d = 0; d < domains(s + 1); ++d) {
        const auto [first, last] = inside(s, d);
        const bool own = is_around(s + 1, d, problem_.rank), puts = last - first <= (reduces ? few_up : few_down);
        if (last - first == 1 || (puts && !own)) continue;
        std::vector<Move> of_rank;
        for (const Move& m : moves(s, d, up, reduces)) {
            if (!puts && m.from != m.to) offers[static_cast<std::size_t>(m.from)] = true;
            if (own && (m.from == problem_.rank || m.to == problem_.rank)) of_rank.push_back(m);
        }
        if (!own) continue;
        pass_on(of_rank, puts, s, d, reduces);
    }
    for (std::size_t r = 0; r < offers.size(); ++r) offers_[r] += offers[r];
}

void Shares::pass_on(const std::vector<Move>& moves, bool puts, std::size_t s, std::size_t d, bool reduces) {
    const int rank = problem_.rank;
    const std::size_t first = inside(s, d).first;
    const auto part_of = [&](int r) {
        std::size_t c = 0;
        while (!is_around(s, first + c, r)) ++c;
        return c;
    };
    // The part that a rank takes first; where its own is the first, it is combined with the second one, without a copy.
    const auto begins = [](std::size_t own) { return own == 0 ? std::size_t{1} : 0; };
    const std::size_t most = std::ranges::max(levels_[s + 1].held);
    // What else is put waits beside it.
    const auto place = [&](const Move& m) {
        const std::size_t own = reduces ? part_of(m.to) : 0;
        if (!reduces || m.part == begins(own)) return m.target;
        return slots_[s + 1] + ((m.part - 1 - (m.part > own)) * most + m.packed);
    };

    std::vector<int> readers;
    std::size_t from = SIZE_MAX, until = 0;
    Address offered;
    for (const Move& m : moves) {
        if (m.from != rank || m.to == rank) continue;
        if (puts) {
            b_.put(m.to, m.source, place(m), m.bytes);
            continue;
        }
        if (std::ranges::find(readers, m.to) == readers.end()) readers.push_back(m.to);
        if (m.source.offset < from) offered = m.source;
        from = std::min(from, m.source.offset);
        until = std::max(until, m.source.offset + m.bytes);
    }
    if (!readers.empty()) b_.offer(offered, until - from, readers);

    const auto get = [&](const Move& m, Order order) { b_.get(m.from, offers_[static_cast<std::size_t>(m.from)], m.source, m.target, m.bytes, order); };
    for (const Move& m : moves) {
        if (m.to != rank) continue;
        if (m.from == rank && !reduces && m.source != m.target) b_.copy(m.source, m.target, m.bytes);
        if (m.from == rank) continue;
        if (puts) b_.arrive(m.from, place(m), m.bytes);
        else if (!reduces) get(m, Order::overwrite);
    }
    if (puts || !reduces) b_.next_round();
    if (!reduces) return;

    const std::size_t own = part_of(rank), count = inside(s, d).second - first;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t part = own == 0 && i < 2 ? 1 - i : i;
        const Order order = i == 0 ? Order::overwrite : part == 0 ? Order::before : Order::after;
        for (const Move& m : moves) {
            if (m.to != rank || m.part != part) continue;
            if (!puts && m.from != rank) get(m, order);
            else if (i > 0) b_.combine(m.from == rank ? m.source : place(m), m.target, m.bytes, order);
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

}  // namespace fanlight

#include "algorithms/levels.h"

#include <algorithm>
#include <utility>

#include "algorithms/declarations.h"

namespace fanlight {

Composer::Algorithm algorithm_for(const Problem& whole, std::size_t stage, std::size_t last, Operation operation, Schedule (*own)(const Problem&)) {
    const Algorithm* named = named_for_stage(whole.parameters.levels, stage, last);
    if (!named || named->operation != operation) return own;
    Parameters parameters = whole.parameters;
    parameters.levels = 0;
    return [=](Problem p) {
        p.parameters = parameters;
        return restriction(*named, p).empty() ? named->schedule(p) : own(p);
    };
}

Schedule inner_reduce(const Problem& p) {
    if (p.bytes >= (p.size > 2 ? 16 * 1024u : 1024 * 1024u)) return reduce_algorithms::reduce_scatter_gather(p);
    return p.size <= 16 ? reduce_algorithms::root_reads_all(p) : reduce_algorithms::binomial(p);
}

Schedule inner_bcast(const Problem& p) {
    if (p.size <= 16) return bcast_algorithms::one_to_all(p);
    return p.bytes <= 512 * 1024 ? bcast_algorithms::binomial(p) : bcast_algorithms::pruned_ring(p);
}

Topology levels_in_order(const Problem& problem) {
    const Topology topology = problem.topology.simplified();
    return in_order(problem) && !std::ranges::all_of(topology.all(), &Domains::blocked) ? Topology() : topology;
}

Levels::Levels(const Problem& problem)
    : Composer(problem), stages_(levels_in_order(problem), problem.size, has_root(problem.operation) ? problem.root : -1, is_prefix(problem.operation)) {}

Problem Levels::part(Operation operation, std::size_t bytes) const {
    Problem p;
    p.operation = operation;
    p.bytes = bytes;
    p.element = whole().element;
    p.commutative = whole().commutative;
    return p;
}

std::vector<Address> Levels::reduce_up(std::size_t bytes, Address from) {
    std::vector<Address> operands{from};
    for (std::size_t s = 0; s < last(); ++s) {
        operands.push_back(reserve(bytes));
        add(chosen(s, Operation::reduce, inner_reduce), part(Operation::reduce, bytes), stages()[s], everywhere(operands[s], operands[s + 1]));
    }
    return operands;
}

void Levels::bcast_down(std::size_t bytes, const BuffersOf& buffers, Where where) {
    for (std::size_t s = last(); s-- > 0;) {
        Groups groups = stages()[s];
        std::erase_if(groups, [&](const Group& g) {
            return where != Where::everywhere && stages_.topology().level(0).share(g.ranks.front(), whole().root) != (where == Where::at_root);
        });
        add(chosen(s, Operation::bcast, inner_bcast), part(Operation::bcast, bytes), groups, buffers);
    }
}

LevelsOfBlocks::LevelsOfBlocks(const Problem& problem) : Levels(problem), packing_(problem, order()) {
    std::vector<Block> now;
    std::size_t longest = 0;
    for (int r = 0; r < problem.size; ++r) {
        now.push_back(packing_.of(r));
        longest = std::max(longest, now.back().bytes);
    }
    // Of gatherv and scatterv nobody but the root could tell.
    at_their_places_ = has_root(problem.operation) && family_of(problem.operation) == Family::blocks && longest > longest_in_few_steps && !packing_.packed_at();
    of_stage_.push_back(now);
    std::vector<Places> places(at_their_places_ ? now.size() : 0);
    for (std::size_t i = 0; i < places.size(); ++i) places[static_cast<std::size_t>(order()[i])] = {i, 1};
    places_.push_back(places);
    for (const Groups& groups : stages()) {
        std::vector<Block> next(now.size());
        std::vector<Places> next_places(places.size());
        for (const Group& group : groups) {
            const auto representative = static_cast<std::size_t>(group.ranks[static_cast<std::size_t>(group.root)]);
            next[representative].offset = now[static_cast<std::size_t>(group.ranks.front())].offset;
            for (const int r : group.ranks) {
                next[representative].bytes += now[static_cast<std::size_t>(r)].bytes;
                if (at_their_places_) next_places[representative].count += places[static_cast<std::size_t>(r)].count;
            }
            if (at_their_places_) next_places[representative].first = places[static_cast<std::size_t>(group.ranks.front())].first;
        }
        of_stage_.push_back(now = std::move(next));
        places_.push_back(places = std::move(next_places));
    }
}

LevelsOfBlocks::At LevelsOfBlocks::held(Address own, Address all) {
    const int root = has_root(whole().operation) ? whole().root : -1;
    std::vector<std::size_t> first(of_stage_[0].size(), SIZE_MAX);
    std::size_t most = 0;
    for (std::size_t s = 0; s <= last(); ++s) {
        for (std::size_t r = 0; r < first.size(); ++r) {
            const Block& b = of_stage_[s][r];
            if (b.bytes > 0) first[r] = std::min(first[r], b.offset);
            if (last() > 0 && static_cast<int>(r) != root) most = std::max(most, b.bytes);
        }
    }
    const Address kept = reserve(most);
    return [=, this](std::size_t stage, int rank) {
        if (stage == 0) return own;
        const Block& b = of_stage_[stage][static_cast<std::size_t>(rank)];
        if (rank == root) return all + b.offset;
        return kept + (b.bytes > 0 ? b.offset - first[static_cast<std::size_t>(rank)] : 0);
    };
}

Problem LevelsOfBlocks::part(Operation operation, std::size_t stage, const Group& group) const {
    Problem p = Levels::part(operation, 0);
    const std::size_t first = offset(stage + 1, group.ranks[static_cast<std::size_t>(group.root)]);
    p.blocks.reserve(group.ranks.size());
    for (const int r : group.ranks) {
        const Block& b = of_stage_[stage][static_cast<std::size_t>(r)];
        p.blocks.push_back({b.offset - first, b.bytes});
    }
    return p;
}

void LevelsOfBlocks::gather_up(std::size_t count, const At& at) {
    const bool lengths_are_unknown = whole().operation == Operation::gatherv;
    for (std::size_t s = 0; s < count; ++s)
        move(lengths_are_unknown ? Operation::gatherv : Operation::gather, gather_algorithms::all_write_root, s, at);
}

void LevelsOfBlocks::scatter_down(std::size_t count, const At& at) {
    const bool lengths_are_unknown = whole().operation == Operation::scatterv;
    for (std::size_t s = count; s-- > 0;)
        move(lengths_are_unknown ? Operation::scatterv : Operation::scatter, scatter_algorithms::root_writes_all, s, at);
}

void LevelsOfBlocks::move(Operation operation, Schedule (*own)(const Problem&), std::size_t s, const At& at) {
    Groups packed = stages()[s];
    if (keep_) keep_(s, packed);
    if (at_their_places_) {
        const auto of_root = std::ranges::find_if(packed, [&](const Group& g) { return g.ranks[static_cast<std::size_t>(g.root)] == whole().root; });
        move_one_by_one(Levels::part(operation, 0), own, s, *of_root, at);
        packed.erase(of_root);
    }
    const bool up = operation == Operation::gather || operation == Operation::gatherv;
    add(chosen(s, operation, own), [&](const Group& g) { return part(operation, s, g); }, packed,
        [&](int rank) { return up ? Buffers{at(s, rank), at(s + 1, rank)} : Buffers{at(s + 1, rank), at(s, rank)}; });
}

void LevelsOfBlocks::move_one_by_one(const Problem& part, Schedule (*own)(const Problem&), std::size_t s, const Group& group, const At& at) {
    const int root = whole().root;
    const auto places_of = [&](int r) -> const Places& { return places_[s][static_cast<std::size_t>(r)]; };
    // The i-th of those that a rank stands for; the root's own is moved in the first stage.
    const auto owner = [&](int r, std::size_t i) { return i < places_of(r).count && (r != root || s == 0) ? order()[places_of(r).first + i] : -1; };
    std::size_t most = 1;
    for (const int r : group.ranks)
        if (r != root) most = std::max(most, places_of(r).count);
    const auto move = [&](std::size_t i) {
        const auto problem = [&](const Group& g) {
            Problem p = part;
            for (const int r : g.ranks) p.blocks.push_back(owner(r, i) < 0 ? Block{} : whole().block(owner(r, i)));
            return p;
        };
        add(own, problem, {group}, [&](int r) {
            const std::size_t before = owner(r, i) < 0 ? 0 : offset(0, owner(r, i)) - offset(s, r);
            const Address there = at(s, r) + before;
            return part.operation == Operation::gather ? Buffers{there, output()} : Buffers{input(), there};
        });
    };
    constexpr std::size_t at_one_time = 4;  // as many as a reader posts ahead
    for (std::size_t i = 0; i < most; i += at_one_time) {
        std::vector<std::function<void()>> moves;
        for (std::size_t k = i; k < std::min(i + at_one_time, most); ++k) moves.push_back([&, k] { move(k); });
        overlap(moves);
    }
}

}  // namespace fanlight

#include "algorithms/lanes.h"

#include <algorithm>
#include <numeric>

#include "algorithms/blocks.h"
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight {

Lanes::Lanes(const Problem& problem) : Composer(problem) {
    const auto size = static_cast<std::size_t>(problem.size);
    std::vector<Domains> levels{Domains(std::vector<int>(size, 0))};
    const Topology topology = problem.topology.simplified();
    for (const Domains& d : topology.all())
        if (d.even() && (d.blocked() || !in_order(problem))) levels.push_back(d);

    std::vector<std::vector<int>> inside;  // the ranks of each domain, in the order of the lanes
    for (int r = 0; r < problem.size; ++r) inside.push_back({r});
    for (; !levels.empty(); levels.pop_back()) {
        const Domains& domains = levels.back();
        std::vector<std::vector<const std::vector<int>*>> of_domain(static_cast<std::size_t>(domains.count()));
        for (const auto& ranks : inside) of_domain[static_cast<std::size_t>(domains.of(ranks.front()))].push_back(&ranks);
        std::vector<std::vector<int>> around;
        Groups &groups = stages_.emplace_back(), &around_root = around_root_.emplace_back();
        std::vector<int>& place = places_.emplace_back(size);
        for (const auto& domain : of_domain) {
            const auto with_root = std::ranges::find_if(domain, [&](const auto* ranks) { return std::ranges::find(*ranks, problem.root) != ranks->end(); });
            for (std::size_t lane = 0; lane < domain.front()->size(); ++lane) {
                Group& group = groups.emplace_back();
                for (const auto* ranks : domain) {
                    place[static_cast<std::size_t>((*ranks)[lane])] = static_cast<int>(group.ranks.size());
                    group.ranks.push_back((*ranks)[lane]);
                }
                if (with_root == domain.end()) continue;
                home_ = **with_root;
                group.root = static_cast<int>(with_root - domain.begin());
                around_root.push_back(group);
            }
            auto& all = around.emplace_back();
            for (const auto* ranks : domain) all.insert(all.end(), ranks->begin(), ranks->end());
        }
        inside = std::move(around);
    }
    find_parts();
}

void Lanes::find_parts() {
    const auto size = static_cast<std::size_t>(whole().size);
    std::vector<int> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) {
        for (std::size_t s = 0; s < stages_.size(); ++s)
            if (place(s, a) != place(s, b)) return place(s, a) < place(s, b);
        return false;
    });
    packing_.emplace(whole(), order);
    const bool is_vector = family_of(whole().operation) == Family::vector;
    const std::size_t total = is_vector ? 0 : packing_->bytes();
    parts_.assign(1, std::vector<Block>(size, {0, is_vector ? whole().bytes : total}));
    for (std::size_t s = 0; s < stages_.size(); ++s) {
        std::vector<Block> shares(size);
        const auto same = [&](int a, int b) {
            for (std::size_t k = 0; k <= s; ++k)
                if (place(k, a) != place(k, b)) return false;
            return true;
        };
        if (is_vector)
            for (const Group& group : stages_[s]) {
                const Block all = part(s, group.ranks.front());
                Problem p = sub_problem(whole().operation);
                p.bytes = all.bytes;
                p.size = static_cast<int>(group.ranks.size());
                for (int i = 0; i < p.size; ++i) {
                    const Block share = fanlight::part(p, i);
                    shares[static_cast<std::size_t>(group.ranks[static_cast<std::size_t>(i)])] = {all.offset + share.offset, share.bytes};
                }
            }
        // The blocks of all who are at its place in every stage so far: they lie side by side.
        for (std::size_t i = 0; !is_vector && i < size;) {
            std::size_t end = i + 1;
            Block all = packing_->of(order[i]);
            for (; end < size && same(order[i], order[end]); ++end) all.bytes += packing_->of(order[end]).bytes;
            for (; i < end; ++i) shares[static_cast<std::size_t>(order[i])] = all;
        }
        parts_.push_back(std::move(shares));
    }
}

std::size_t Lanes::longest_part(std::size_t s) const {
    return std::ranges::max(parts_[s], {}, &Block::bytes).bytes;
}

Problem Lanes::sub_problem(Operation operation) const {
    Problem p;
    p.operation = operation;
    p.element = whole().element;
    p.commutative = whole().commutative;
    return p;
}

std::function<Problem(const Composer::Group&)> Lanes::shares(std::size_t s, Operation operation) const {
    return [=, this](const Group& group) {
        Problem p = sub_problem(operation);
        const std::size_t start = part(s, group.ranks.front()).offset;
        for (const int r : group.ranks) p.blocks.push_back({part(s + 1, r).offset - start, part(s + 1, r).bytes});
        return p;
    };
}

std::function<Problem(const Composer::Group&)> Lanes::across(Operation operation) const {
    return [=, this](const Group& group) {
        Problem p = sub_problem(operation);
        p.bytes = part(last(), group.ranks.front()).bytes;
        return p;
    };
}

Composer::Algorithm Lanes::across(Operation operation, Schedule (*own)(const Problem&)) const {
    return algorithm_for(whole(), last(), last(), operation, own);
}

Address Lanes::reduce_up(Address all, std::size_t from_stage) {
    for (std::size_t s = from_stage; s < last(); ++s) {
        const Address share = reserve(longest_part(s + 1));
        add(reduce_scatter_algorithms::all_read_all, shares(s, Operation::reduce_scatter), stages_[s], everywhere(all, share));
        all = share;
    }
    return all;
}

Composer::BuffersOf Lanes::in_place(std::size_t s, const std::function<Address(int)>& all) const {
    return [=, this](int r) { return Buffers{all(r) + part(s + 1, r).offset, all(r) + part(s, r).offset}; };
}

void Lanes::allgather_down(Address all, const std::vector<int>& but) {
    for (std::size_t s = last(); s-- > 0;) {
        Groups groups = stages_[s];
        std::erase_if(groups, [&](const Group& g) { return std::ranges::find(but, g.ranks.front()) != but.end(); });
        add(allgatherv_algorithms::all_read_all, shares(s, Operation::allgatherv), groups, in_place(s, [=](int) { return all; }));
    }
}

Schedule Lanes::on_every_level(Schedule (*own)(const Problem&)) {
    Problem p = sub_problem(whole().operation);
    p.bytes = whole().bytes;
    Address from = input();
    for (std::size_t s = 0; s <= last(); ++s) {
        const Address to = s == last() ? output() : reserve(p.bytes);
        add(algorithm_for(whole(), s, last(), p.operation, own), p, stages_[s], everywhere(from, to));
        from = to;
    }
    return finish();
}

bool Lanes::one_by_one(std::size_t most) {
    std::size_t number = 0, alike = 1;
    for (std::size_t s = last(); s > 0; --s) number += alike *= stages_[s].front().ranks.size();
    const std::size_t longest = std::ranges::max(parts_.back(), {}, &Block::bytes).bytes;
    if (number == 0 || number > most || packing_->packed_at() || longest <= longest_in_few_steps) return false;
    // Those alike follow each other in the order of the places.
    const std::vector<int>& order = packing_->order();
    alike_.assign(last() + 1, std::vector<std::vector<int>>(order.size()));
    alike = 1;
    for (std::size_t s = last() + 1; s-- > 0; alike *= stages_[s].front().ranks.size()) {
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto first = order.begin() + static_cast<std::ptrdiff_t>(i / alike * alike);
            std::vector<int>& ranks = alike_[s][static_cast<std::size_t>(order[i])];
            ranks.assign(first, first + static_cast<std::ptrdiff_t>(alike));
            std::ranges::stable_partition(ranks, [&](int r) { return place(last(), r) == place(last(), order[i]); });
        }
    }
    return true;
}

std::function<Problem(const Composer::Group&)> Lanes::blocks_of_alike(std::size_t s, std::size_t i, Operation operation) const {
    return [=, this](const Group& group) {
        Problem p = sub_problem(operation);
        for (const int r : group.ranks) p.blocks.push_back(whole().block(alike(s, r)[i]));
        return p;
    };
}

}  // namespace fanlight

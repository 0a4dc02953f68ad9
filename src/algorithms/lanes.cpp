#include "algorithms/lanes.h"

#include <algorithm>
#include <numeric>

#include "algorithms/blocks.h"
#include "algorithms/declarations.h"
#include "algorithms/levels.h"

namespace fanlight {

Lanes::Lanes(const Problem& problem) : Composer(problem) {
    const auto size = static_cast<std::size_t>(problem.size);
    const bool in_order = reduces(problem.operation) && !problem.commutative;
    std::vector<Domains> levels{Domains(std::vector<int>(size, 0))};
    const Topology topology = problem.topology.simplified();
    for (const Domains& d : topology.all())
        if (d.even() && (d.blocked() || !in_order)) levels.push_back(d);

    std::vector<std::vector<int>> inside;  // the ranks of each domain, in the order of the lanes
    for (int r = 0; r < problem.size; ++r) inside.push_back({r});
    std::vector<std::vector<int>> places;  // of stage and rank: in its group
    for (; !levels.empty(); levels.pop_back()) {
        const Domains& domains = levels.back();
        std::vector<std::vector<const std::vector<int>*>> of_domain(static_cast<std::size_t>(domains.count()));
        for (const auto& ranks : inside) of_domain[static_cast<std::size_t>(domains.of(ranks.front()))].push_back(&ranks);
        std::vector<std::vector<int>> around;
        Groups &groups = stages_.emplace_back(), &around_root = around_root_.emplace_back();
        std::vector<int>& place = places.emplace_back(size);
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
    find_parts(places);
}

void Lanes::find_parts(const std::vector<std::vector<int>>& places) {
    const auto size = static_cast<std::size_t>(whole().size);
    const auto place = [&](std::size_t s, int r) { return places[s][static_cast<std::size_t>(r)]; };
    order_.resize(size);
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::sort(order_, [&](int a, int b) {
        for (std::size_t s = 0; s < stages_.size(); ++s)
            if (place(s, a) != place(s, b)) return place(s, a) < place(s, b);
        return false;
    });
    const bool is_vector = family_of(whole().operation) == Family::vector;
    std::vector<Block> own(size);
    std::size_t total = 0;
    for (const int r : order_) {
        own[static_cast<std::size_t>(r)] = {total, is_vector ? 0 : whole().block(r).bytes};
        total += own[static_cast<std::size_t>(r)].bytes;
    }
    parts_.assign(1, std::vector<Block>(size, {0, is_vector ? whole().bytes : total}));
    for (std::size_t s = 0; s < stages_.size(); ++s) {
        std::vector<Block> shares(size);
        for (const Group& group : stages_[s]) {
            const Block all = part(s, group.ranks.front());
            Problem p = sub_problem(whole().operation);
            p.bytes = all.bytes;
            p.size = static_cast<int>(group.ranks.size());
            for (int i = 0; is_vector && i < p.size; ++i) {
                const Block share = fanlight::part(p, i);
                shares[static_cast<std::size_t>(group.ranks[static_cast<std::size_t>(i)])] = {all.offset + share.offset, share.bytes};
            }
        }
        // The blocks of all who are at its place in every stage so far: they lie side by side.
        for (std::size_t i = 0; !is_vector && i < size;) {
            std::size_t end = i + 1;
            const auto same = [&](int a, int b) {
                for (std::size_t k = 0; k <= s; ++k)
                    if (place(k, a) != place(k, b)) return false;
                return true;
            };
            Block all = own[static_cast<std::size_t>(order_[i])];
            for (; end < size && same(order_[i], order_[end]); ++end) all.bytes += own[static_cast<std::size_t>(order_[end])].bytes;
            for (; i < end; ++i) shares[static_cast<std::size_t>(order_[i])] = all;
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

Address Lanes::reduce_up(Address all) {
    for (std::size_t s = 0; s < last(); ++s) {
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

// Those that follow each other both ways are one.
void Lanes::for_blocks(const std::function<void(Block, std::size_t)>& act) const {
    Block run;
    std::size_t packed = 0;
    for (const int r : order_) {
        const Block b = whole().block(r);
        if (b.bytes == 0) continue;
        if (run.bytes > 0 && run.offset + run.bytes != b.offset) {
            act(run, packed);
            packed += std::exchange(run, {}).bytes;
        }
        if (run.bytes == 0) run.offset = b.offset;
        run.bytes += b.bytes;
    }
    if (run.bytes > 0) act(run, packed);
}

bool Lanes::is_packed() const {
    int runs = 0;
    for_blocks([&](Block, std::size_t) { ++runs; });
    return runs <= 1;
}

Address Lanes::pack() {
    std::size_t first = 0;
    for_blocks([&](Block at, std::size_t) { first = at.offset; });
    if (is_packed()) return input(first);
    const Address packed = reserve(part(0, 0).bytes);
    for_blocks([&](Block at, std::size_t to) { copy(input(at.offset), packed + to, at.bytes); });
    return packed;
}

Address Lanes::room_to_unpack() {
    std::size_t first = 0;
    for_blocks([&](Block at, std::size_t) { first = at.offset; });
    return is_packed() ? output(first) : reserve(part(0, 0).bytes);
}

void Lanes::unpack(Address packed) {
    if (is_packed()) return;
    for_blocks([&](Block at, std::size_t from) { copy(packed + from, output(at.offset), at.bytes); });
}

}  // namespace fanlight

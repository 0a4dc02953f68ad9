#include "schedule/composer.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fanlight {
namespace {

// `puts`: memory to sort them in, by their peers.
BoundsOfKind bounds_of(const Schedule& s, std::vector<std::pair<int, std::size_t>>& puts) {
    BoundsOfKind result;
    result.all.offers = s.offers;
    puts.clear();
    for (const Step& step : s.steps) {
        if (step.kind == StepKind::offer) result.add(step.bytes);
        if (step.kind == StepKind::put && step.bytes > 0) puts.emplace_back(step.peer, step.bytes);
    }
    std::ranges::sort(puts);
    for (std::size_t i = 0; i < puts.size(); ++i) result.add(puts[i].second, i > 0 && puts[i - 1].first == puts[i].first ? puts[i - 1].second : 0);
    return result;
}

Problem part_of(const std::function<Problem(const Composer::Group&)>& part, const Composer::Group& group) {
    Problem p = part(group);
    p.topology = {};
    p.size = static_cast<int>(group.ranks.size());
    p.root = group.root;
    return p;
}

bool say_alike(const BoundsOfKind& a, const BoundsOfKind& b) {
    return a.all.offers == b.all.offers && a.all.written == b.all.written && a.at_one_time == b.at_one_time;
}

}  // namespace

thread_local constinit Composer::OfAllRanks* Composer::OfAllRanks::current = nullptr;

Composer::OfAllRanks* Composer::OfAllRanks::for_problem(const Problem& problem) {
    if (!current || current->is_taken_ || lengths_are_unknown(problem.operation)) return nullptr;
    if (current->problem_) current->problem_->rank = problem.rank;
    if (current->problem_ != problem) {
        current->said_ = {};
        current->problem_ = problem;
    }
    current->is_taken_ = true;
    return current;
}

Composer::Composer(const Problem& whole) : whole_(whole), kept_(OfAllRanks::for_problem(whole)) {
    if (kept_) said_ = &kept_->said_;
    if (said_->parts.empty()) said_->parts.emplace_back().kind_of.resize(static_cast<std::size_t>(whole.size));
}

Composer::~Composer() {
    if (kept_) kept_->is_taken_ = false;
}

Address Composer::reserve(std::size_t bytes) {
    const Address at = scratch(reserved_);
    reserved_ += whole_lines(bytes);
    return at;
}

void Composer::Said::add(const Algorithm& algorithm, const std::function<Problem(const Group&)>& part, const std::vector<Group>& groups) {
    // Groups of one size and root have the same schedules, unless their vectors or blocks differ.
    std::map<std::vector<std::size_t>, std::size_t> known;
    std::vector<std::size_t> key, first;
    std::vector<BoundsOfKind> told;
    std::vector<std::pair<int, std::size_t>> puts;
    Part result{0, parts.back().kind_of};
    for (const Group& group : groups) {
        Problem p = part_of(part, group);
        key.assign({group.ranks.size(), static_cast<std::size_t>(group.root), p.bytes});
        for (const Block& b : p.blocks) key.insert(key.end(), {b.offset, b.bytes});
        const auto [it, is_new] = known.try_emplace(key, told.size());
        first.push_back(it->second);
        if (!is_new) continue;
        for (p.rank = 0; p.rank < p.size; ++p.rank) {
            Schedule s = algorithm(p);
            told.push_back(bounds_of(s, puts));
            result.scratch = std::max(result.scratch, s.scratch_bytes);
            Builder::recycle(std::move(s));
        }
    }
    tell(result, groups, first, told);
    parts.push_back(std::move(result));
}

void Composer::add(const Algorithm& algorithm, const std::function<Problem(const Group&)>& part, const std::vector<Group>& groups,
                   const BuffersOf& buffers) {
    if (said_->parts.size() == parts_ + 1) said_->add(algorithm, part, groups);
    const std::size_t scratch_at = reserve(said_->parts[parts_ + 1].scratch).offset;
    for (const Group& group : groups) {
        const auto here = std::find(group.ranks.begin(), group.ranks.end(), whole_.rank);
        if (here == group.ranks.end()) continue;
        Problem own = part_of(part, group);
        own.rank = static_cast<int>(here - group.ranks.begin());
        Schedule s = algorithm(own);
        append(s, group, buffers, scratch_at);
        Builder::recycle(std::move(s));
        break;
    }
    ++parts_;
}

void Composer::Said::tell(Part& part, const std::vector<Group>& groups, const std::vector<std::size_t>& first, const std::vector<BoundsOfKind>& told) {
    constexpr std::uint32_t none = UINT32_MAX;
    struct Split {
        std::uint32_t before, now;  // kinds
        std::uint32_t other;        // of ranks that do the same
    };
    std::vector<Split> splits;
    std::vector<std::uint32_t> split(told.size(), none);
    // Neighbors often say the same: the first of them stands for all.
    std::vector<std::size_t> same(told.size());
    for (std::size_t i = 0; i < told.size(); ++i) same[i] = i > 0 && say_alike(told[i], told[i - 1]) ? same[i - 1] : i;
    for (std::size_t g = 0; g < groups.size(); ++g)
        for (std::size_t i = 0; i < groups[g].ranks.size(); ++i) {
            const std::size_t what = same[first[g] + i];
            if (say_alike(told[what], {})) continue;
            std::uint32_t& kind = part.kind_of[static_cast<std::size_t>(groups[g].ranks[i])];
            std::uint32_t s = split[what];
            while (s != none && splits[s].before != kind) s = splits[s].other;
            if (s == none) {
                s = static_cast<std::uint32_t>(splits.size());
                splits.push_back({kind, static_cast<std::uint32_t>(kinds.size()), std::exchange(split[what], s)});
                kinds.push_back(kinds[kind]);
                kinds.back() += told[what];
            }
            kind = splits[s].now;
        }
}

void Composer::copy(Address from, Address to, std::size_t bytes) {
    append(StepKind::copy, from, to, bytes, Order::overwrite);
}

void Composer::combine(Address from, Address to, std::size_t bytes, Order order) {
    append(StepKind::combine, from, to, bytes, order);
}

void Composer::overlap(const std::vector<std::function<void()>>& parts) {
    Schedule before = std::exchange(result_, {});
    const std::vector<Step> copied = copied_;
    result_.offers = before.offers;
    result_.readers = std::move(before.readers);
    std::vector<std::vector<Step>> rounds;
    for (const auto& part : parts) {
        result_.steps.clear();
        result_.round_ends.clear();
        copied_ = copied;
        part();
        if (rounds.size() < result_.rounds()) rounds.resize(result_.rounds());
        for (std::size_t r = 0; r < result_.rounds(); ++r) rounds[r].insert(rounds[r].end(), result_.round(r).begin(), result_.round(r).end());
    }
    copied_ = copied;
    result_.steps = std::move(before.steps);
    result_.round_ends = std::move(before.round_ends);
    for (const std::vector<Step>& round : rounds) {
        for (const Step& step : round)
            if (!is_copied_again(step)) result_.steps.push_back(step);
        result_.end_round();
    }
}

// Whether the step only does what an earlier one has done: copy from the input, which nobody changes.
bool Composer::is_copied_again(const Step& step) {
    if (step.kind != StepKind::copy || step.from.buffer != Buffer::input) return false;
    const auto same = [&](const Step& s) { return s.from == step.from && s.to == step.to && s.bytes == step.bytes; };
    if (std::ranges::any_of(copied_, same)) return true;
    copied_.push_back(step);
    return false;
}

void Composer::append(StepKind kind, Address from, Address to, std::size_t bytes, Order order) {
    if (bytes == 0) return;
    result_.steps.push_back({.kind = kind, .order = order, .from = from, .to = to, .bytes = bytes});
    result_.end_round();
}

void Composer::append(const Schedule& part, const Group& group, const BuffersOf& buffers, std::size_t scratch_at) {
    const auto rank_of = [&](int r) { return group.ranks[static_cast<std::size_t>(r)]; };
    const auto address = [&](Address a, int rank) {
        switch (a.buffer) {
            case Buffer::input: return buffers(rank).input + a.offset;
            case Buffer::output: return buffers(rank).output + a.offset;
            case Buffer::scratch: return scratch(scratch_at + a.offset);
            case Buffer::unknown: break;
        }
        return a;
    };
    for (std::size_t round = 0; round < part.rounds(); ++round) {
        for (Step step : part.round(round)) {
            const int peer = step.peer < 0 ? whole_.rank : rank_of(step.peer);
            step.bit = false;  // one from one rank to another at most, in the whole
            if (step.bytes == 0) step.order = Order::overwrite;
            switch (step.kind) {
                case StepKind::put:
                    step.from = address(step.from, whole_.rank);
                    step.to = address(step.to, peer);
                    break;
                case StepKind::get:
                    step.from = address(step.from, peer);
                    step.to = address(step.to, whole_.rank);
                    step.offer += offers_of(peer);
                    break;
                case StepKind::offer: {
                    step.from = address(step.from, whole_.rank);
                    step.offer = result_.offers++;
                    const auto readers = part.readers_of(step);
                    step.first_reader = static_cast<std::uint32_t>(result_.readers.size());
                    for (const int r : readers) result_.readers.push_back(rank_of(r));
                    break;
                }
                case StepKind::arrive: step.to = address(step.to, whole_.rank); break;
                case StepKind::copy:
                case StepKind::combine:
                    step.from = address(step.from, whole_.rank);
                    step.to = address(step.to, whole_.rank);
                    break;
            }
            if (step.peer >= 0) step.peer = peer;
            if (step.kind == StepKind::copy || step.kind == StepKind::combine) {
                if (step.bytes == 0) continue;
                if (step.kind == StepKind::copy && step.from == step.to) continue;
            }
            if (!is_copied_again(step)) result_.steps.push_back(step);
        }
        result_.end_round();
    }
}

// Of what the parts reserved a rank needs what its own steps touch.
Schedule Composer::finish() {
    for (const Step& s : result_.steps) {
        const bool from_here = s.kind != StepKind::get && s.kind != StepKind::arrive;
        const bool to_here = s.kind != StepKind::put && s.kind != StepKind::offer;
        if (from_here && s.from.buffer == Buffer::scratch) result_.scratch_bytes = std::max(result_.scratch_bytes, s.from.offset + s.bytes);
        if (to_here && s.to.buffer == Buffer::scratch) result_.scratch_bytes = std::max(result_.scratch_bytes, s.to.offset + s.bytes);
    }
    for (const BoundsOfKind& b : said_->kinds) result_.bounds.raise(b.all);
    result_.bounds.known = true;
    result_.kind_of = said_->parts[parts_].kind_of;
    result_.kinds = said_->kinds;
    return std::move(result_);
}

}  // namespace fanlight

#include "schedule/topology.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <numeric>
#include <stdexcept>

namespace fanlight {

Domains::Domains(std::span<const int> domain_of) {
    std::map<int, int> seen;
    for (std::size_t r = 0; r < domain_of.size(); ++r) {
        const auto [it, is_new] = seen.try_emplace(domain_of[r], count());
        if (is_new) members_.emplace_back();
        auto& members = members_[static_cast<std::size_t>(it->second)];
        domain_.push_back(it->second);
        local_.push_back(static_cast<int>(members.size()));
        members.push_back(static_cast<int>(r));
    }
    blocked_ = std::ranges::is_sorted(domain_);
}

std::pair<int, int> Domains::sizes() const {
    std::pair<int, int> result(ranks(), 0);
    for (const auto& m : members_) result = {std::min(result.first, static_cast<int>(m.size())), std::max(result.second, static_cast<int>(m.size()))};
    return result;
}

namespace {

constexpr int most_places = 1 << 20;
constexpr int any_number = 0;  // of ranks

// What the text says of a domain: the domains in it, or how many ranks it has.
struct Part {
    std::vector<Part> parts;
    int ranks = any_number;

    int places() const {
        if (parts.empty()) return ranks;
        return std::accumulate(parts.begin(), parts.end(), 0, [](int sum, const Part& p) { return sum + p.places(); });
    }
    int depth() const {
        int deepest = 0;
        for (const Part& p : parts) deepest = std::max(deepest, p.depth() + 1);
        return deepest;
    }
    int leaves() const {
        return parts.empty() ? 1
                             : std::accumulate(parts.begin(), parts.end(), 0, [](int sum, const Part& p) { return sum + p.leaves(); });
    }
    bool has_any() const {
        return parts.empty() ? ranks == any_number : std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.has_any(); });
    }
};

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Part parse() {
        const Part whole = sum();
        if (at_ < text_.size() && text_[at_] != ':') fail("'" + std::string(text_.substr(at_)) + "' is not expected there");
        if (whole.has_any() && std::count(text_.begin(), text_.end(), '+') > 0) fail("'*' and '+' do not go together");
        return whole;
    }
    std::string_view suffix() const { return at_ < text_.size() ? text_.substr(at_ + 1) : std::string_view{}; }
    bool has_suffix() const { return at_ < text_.size(); }

    [[noreturn]] void fail(const std::string& what) const {
        throw std::invalid_argument("topology '" + std::string(text_) + "': " + what +
                                    "; write for instance 4x2x8: 4 nodes, in each 2 domains of 8 ranks");
    }

private:
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    Part sum() {
        Part first = product();
        if (!take('+')) return first;
        Part all;
        all.parts.push_back(std::move(first));
        do all.parts.push_back(product());
        while (take('+'));
        return all;
    }

    Part product() {
        if (take('(')) {
            Part inside = sum();
            if (!take(')')) fail("')' is missing");
            return inside;
        }
        Part result;
        if (take('*')) return result;
        const char* const end = text_.data() + text_.size();
        const auto number = std::from_chars(text_.data() + at_, end, result.ranks);
        if (number.ec != std::errc{} || result.ranks < 1) fail("a number of at least 1 is expected at character " + std::to_string(at_ + 1));
        at_ = static_cast<std::size_t>(number.ptr - text_.data());
        if (!take('x')) {
            check(result.ranks);
            return result;
        }
        const int copies = result.ranks;
        const Part each = product();
        check(static_cast<long>(copies) * std::max(each.places(), each.leaves()));
        result.parts.assign(static_cast<std::size_t>(copies), each);
        return result;
    }

    void check(long places) const {
        if (places > most_places) fail("these are more than " + std::to_string(most_places) + " places");
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// Place by place, on each level a number for the domain.
struct Paths {
    explicit Paths(int depth) : levels(static_cast<std::size_t>(depth)) {}
    std::vector<std::vector<int>> levels;
    std::vector<int> path;
    int domains = 0;

    // `share` says how many ranks the next `*` stands for.
    template <class Share>
    void add(const Part& part, Share&& share) {
        if (!part.parts.empty()) {
            for (const Part& p : part.parts) {
                path.push_back(domains++);
                add(p, share);
                path.pop_back();
            }
            return;
        }
        const int inside = domains++;  // levels that this part does not have are one domain
        const int ranks = part.ranks == any_number ? share() : part.ranks;
        for (std::size_t i = 0; i < levels.size(); ++i)
            levels[i].insert(levels[i].end(), static_cast<std::size_t>(ranks), i < path.size() ? path[i] : inside);
    }
};

std::vector<int> dealt_in_turn(const std::vector<int>& outermost) {
    const Domains domains(outermost);
    std::vector<int> rank_at(outermost.size());
    std::vector<std::size_t> taken(static_cast<std::size_t>(domains.count()));
    for (int rank = 0; rank < domains.ranks();)
        for (int d = 0; d < domains.count(); ++d) {
            const auto places = domains.members(d);
            std::size_t& next = taken[static_cast<std::size_t>(d)];
            if (next < places.size()) rank_at[static_cast<std::size_t>(places[next++])] = rank++;
        }
    return rank_at;
}

// The ranks of these domains, as text; `in_product`: a sum stands in parentheses.
std::string text_of(std::span<const Domains> levels, std::span<const int> ranks, bool in_product) {
    if (levels.empty()) return std::to_string(ranks.size());
    std::vector<std::string> parts;
    for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
        while (end < ranks.size() && levels[0].share(ranks[begin], ranks[end])) ++end;
        parts.push_back(text_of(levels.subspan(1), ranks.subspan(begin, end - begin), true));
    }
    const bool alike = std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p == parts[0]; });
    if (alike) return std::to_string(parts.size()) + "x" + parts[0];
    std::string sum;
    for (const std::string& p : parts) sum += (sum.empty() ? "" : "+") + p;
    return in_product ? "(" + sum + ")" : sum;
}

}  // namespace

Topology::Topology(std::vector<Domains> levels) {
    for (std::size_t i = 1; i < levels.size(); ++i) {
        if (levels[i].ranks() != levels[0].ranks()) throw std::invalid_argument("a topology's levels must have the same ranks");
        for (int d = 0; d < levels[i].count(); ++d)
            for (const int r : levels[i].members(d))
                if (!levels[i - 1].share(r, levels[i].leader(d)))
                    throw std::invalid_argument("ranks " + std::to_string(levels[i].leader(d)) + " and " + std::to_string(r) +
                                                " share a domain of level " + std::to_string(i) + ", but none of the level above");
    }
    if (levels.empty()) return;
    std::vector<Domains> kept;
    for (const Domains& d : levels)
        if (d.count() > 1 && d.count() < d.ranks() && (kept.empty() || !(kept.back() == d))) kept.push_back(d);
    Levels made{.all = std::move(levels)};
    made.simple = kept.size() == made.all.size();
    if (!made.simple && !kept.empty()) made.simplified = std::make_shared<const Levels>(Levels{.all = std::move(kept)});
    levels_ = std::make_shared<const Levels>(std::move(made));
}

int Topology::places(std::string_view text) {
    const Part whole = Parser(text).parse();
    return whole.has_any() ? 0 : whole.places();
}

Topology Topology::from(std::string_view text, int ranks) {
    Parser parser(text);
    const Part whole = parser.parse();
    if (!whole.has_any() && whole.places() != ranks)
        parser.fail("it has " + std::to_string(whole.places()) + (whole.places() == 1 ? " place" : " places") + " for " +
                    std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"));
    Paths paths(whole.depth());
    const long leaves = whole.leaves();
    long leaf = 0;
    // The place that a share begins at is where the ranks before, dealt evenly, end.
    const auto share = [&] {
        const long begin = (leaf * ranks + leaves - 1) / leaves, end = ((leaf + 1) * ranks + leaves - 1) / leaves;
        ++leaf;
        return static_cast<int>(end - begin);
    };
    paths.add(whole, share);

    std::vector<int> rank_at(static_cast<std::size_t>(ranks));
    std::iota(rank_at.begin(), rank_at.end(), 0);
    const std::string_view suffix = parser.suffix();
    if (suffix == "cyclic") {
        if (!paths.levels.empty()) rank_at = dealt_in_turn(paths.levels[0]);
    } else if (parser.has_suffix()) {
        std::vector<int> given, sorted;
        for (std::size_t at = 0; at <= suffix.size();) {
            const std::string_view item = suffix.substr(at, suffix.find(',', at) - at);
            int rank = -1;
            const auto number = std::from_chars(item.data(), item.data() + item.size(), rank);
            if (number.ec != std::errc{} || number.ptr != item.data() + item.size())
                parser.fail("behind ':' comes 'cyclic', or the rank at each place: 0,2,1,3");
            given.push_back(rank);
            at += item.size() + 1;
        }
        sorted = given;
        std::sort(sorted.begin(), sorted.end());
        if (sorted != rank_at) parser.fail("behind ':' each of the " + std::to_string(ranks) + " ranks must come once");
        rank_at = given;
    }
    std::vector<Domains> levels;
    for (const std::vector<int>& of_place : paths.levels) {
        std::vector<int> of_rank(static_cast<std::size_t>(ranks));
        for (std::size_t place = 0; place < of_place.size(); ++place) of_rank[static_cast<std::size_t>(rank_at[place])] = of_place[place];
        levels.emplace_back(of_rank);
    }
    return Topology(std::move(levels));
}

int Topology::apart(int rank, int other) const {
    int i = 0;
    while (i < levels() && level(i).share(rank, other)) ++i;
    return i;
}

Topology Topology::simplified() const { return !levels_ || levels_->simple ? *this : Topology(levels_->simplified); }

Topology Topology::among(std::span<const int> ranks) const {
    std::vector<Domains> result;
    for (const Domains& d : all()) {
        std::vector<int> domain_of;
        for (const int r : ranks) domain_of.push_back(d.of(r));
        result.emplace_back(domain_of);
    }
    return Topology(std::move(result));
}

std::string Topology::text() const {
    if (levels() == 0) return {};
    std::vector<int> rank_at(static_cast<std::size_t>(level(0).ranks()));
    std::iota(rank_at.begin(), rank_at.end(), 0);
    const bool in_order = std::all_of(all().begin(), all().end(), [](const Domains& d) { return d.blocked(); });
    std::stable_sort(rank_at.begin(), rank_at.end(), [&](int a, int b) {
        for (const Domains& d : all())
            if (!d.share(a, b)) return d.of(a) < d.of(b);
        return false;
    });
    std::string result = text_of(all(), rank_at, false);
    if (in_order) return result;
    result += ':';
    for (const int r : rank_at) result += (result.back() == ':' ? "" : ",") + std::to_string(r);
    return result;
}

bool operator==(const Topology& a, const Topology& b) {
    return a.levels_ == b.levels_ || std::equal(a.all().begin(), a.all().end(), b.all().begin(), b.all().end());
}

}  // namespace fanlight

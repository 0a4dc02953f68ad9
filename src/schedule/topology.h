// Where the ranks of a collective are: nested domains, the outermost first, for instance nodes, sockets, and the cores that
// share a cache.  Pure data, the same on all ranks, so schedules may depend on it and tests may invent it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fanlight {

// One level: which ranks share a domain.  Domains are numbered in the order of their lowest ranks.
class Domains {
public:
    Domains() = default;
    // For each rank a number that the ranks of its domain, and no others, have.
    explicit Domains(std::span<const int> domain_of);

    int ranks() const { return static_cast<int>(domain_.size()); }
    int count() const { return static_cast<int>(members_.size()); }
    int of(int rank) const { return domain_[static_cast<std::size_t>(rank)]; }
    bool share(int rank, int other) const { return of(rank) == of(other); }
    // Its place among its domain's members.
    int local(int rank) const { return local_[static_cast<std::size_t>(rank)]; }
    // In ascending order; the first one is the domain's leader.
    std::span<const int> members(int domain) const { return members_[static_cast<std::size_t>(domain)]; }
    int leader(int domain) const { return members(domain).front(); }
    // Whether the ranks of every domain follow each other: then what is in the order of the domains
    // is in the order of the ranks.
    bool blocked() const { return blocked_; }
    // The fewest ranks that a domain has, and the most.
    std::pair<int, int> sizes() const;
    // Whether all domains have the same number of ranks.
    bool even() const { return sizes().first == sizes().second; }

    friend bool operator==(const Domains& a, const Domains& b) { return a.domain_ == b.domain_; }

private:
    std::vector<int> domain_, local_;
    std::vector<std::vector<int>> members_;
    bool blocked_ = true;
};

// As text:
//   8          8 ranks in one domain
//   4x2x8      4 nodes, in each 2 domains of 8 ranks
//   2x(3+5)    2 nodes, in each a domain of 3 ranks and one of 5
//   2x4+3      a node of 2 domains of 4 ranks, and a node of 3 ranks
//   2x*        2 nodes, with as even a share of all ranks as there can be
// These number the ranks place by place.  `:cyclic` deals them to the outermost domains in turn;
// `:0,2,1,3` says which rank is at each place.
class Topology {
public:
    // Of one domain.
    Topology() = default;
    // From the outermost level to the innermost.  Throws std::invalid_argument unless all levels have
    // the same ranks, and no domain has ranks of two domains of the level above.
    explicit Topology(std::vector<Domains> levels);
    // Throws std::invalid_argument that says what is wrong, also if the places are not as many as the ranks.
    static Topology from(std::string_view text, int ranks);
    // How many places a text has; 0: as many as there are ranks (`*`).
    static int places(std::string_view text);

    int levels() const { return static_cast<int>(all().size()); }
    const Domains& level(int i) const { return levels_->all[static_cast<std::size_t>(i)]; }
    std::span<const Domains> all() const { return levels_ ? std::span<const Domains>(levels_->all) : std::span<const Domains>(); }
    // The outermost level on which two ranks are apart; levels() if they share all domains.
    int apart(int rank, int other) const;
    // Without the levels that say nothing: one domain, a domain for each rank, or the same as the level above.
    // Found when the topology is made, so that schedules may ask as often as they like.
    Topology simplified() const;
    // As seen by some of the ranks, in this order.
    Topology among(std::span<const int> ranks) const;
    std::string text() const;

    friend bool operator==(const Topology& a, const Topology& b);

private:
    struct Levels {
        std::vector<Domains> all;
        bool simple = true;                             // all of them say something; else:
        std::shared_ptr<const Levels> simplified = {};  // those that do; null: none does
    };
    explicit Topology(std::shared_ptr<const Levels> levels) : levels_(std::move(levels)) {}
    std::shared_ptr<const Levels> levels_;  // copied with every problem
};

}  // namespace fanlight

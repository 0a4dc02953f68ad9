// A vector that nested domains share out: inside a domain each byte has one owner, and where domains meet, in the one
// around them, it goes to one of those that own it inside.
//
//     4 ranks, 01 | 23     first each owns all;  then 0 and 2 the first half, 1 and 3 the second;  then each a quarter
//
// On the way up the owners combine what they have, so that each rank ends with the sum of its part; on the way down
// the parts come to all.  Domains need not have one size: of what they share each gets as much as it has ranks, so that
// in the end every rank owns as much as any other, and no byte moves more often than it must.
//
// The domains are the topology's, divided until at most Parameters::degree meet: what they count are the radices.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "schedule/builder.h"

namespace fanlight {

// The domains of each level, from the ranks alone to all of them in one.
class Division {
public:
    explicit Division(const Problem&);

    std::size_t levels() const { return starts_.size(); }
    std::size_t domains(std::size_t level) const { return starts_[level].size() - 1; }
    // The places of a domain's ranks: [first, second).
    std::pair<std::size_t, std::size_t> places(std::size_t level, std::size_t d) const { return {starts_[level][d], starts_[level][d + 1]}; }
    // The domains of a level that meet in domain d of the next: [first, second).
    std::pair<std::size_t, std::size_t> inside(std::size_t level, std::size_t d) const;
    bool is_around(std::size_t level, std::size_t d, int rank) const;
    int rank_at(std::size_t place) const { return order_[place]; }
    std::size_t place(int rank) const { return place_[static_cast<std::size_t>(rank)]; }

private:
    std::vector<int> order_;                        // the ranks by their places
    std::vector<std::size_t> place_;                // and back
    std::vector<std::vector<std::size_t>> starts_;  // of each level's domains, among the places; last, how many places
};

class Shares : private Division {
public:
    explicit Shares(const Problem&);

    // From everybody's input: each owner gets the sum of its part.
    void reduce_up();
    // From the root's input: each owner gets its part.
    void scatter_up();
    // The parts to all ranks' output; of a reduce to the root's.
    void gather_down();
    Schedule finish() { return b_.finish(); }

private:
    struct Segment {
        std::size_t offset, bytes;
        int owner;
        std::size_t packed;  // where it lies if all of its owner's lie side by side
    };
    struct Level {
        std::vector<std::vector<Segment>> segments;  // of each domain, side by side
        std::vector<std::size_t> held;               // by each rank
        std::vector<bool> in_one;                    // whether each rank's segments touch, here and in all levels below
        std::vector<std::size_t> since;              // the lowest level in which each rank had the same
    };
    struct Move {
        int from, to;
        Address source, target;
        std::size_t bytes;
        std::size_t part;    // of which of the domains that meet
        std::size_t packed;  // among what the target's rank will have
    };
    // What a segment becomes where domains meet: theirs are `parts`.
    using Visit = std::function<void(const Segment&, const std::vector<const Segment*>& parts)>;

    void share_out(std::size_t level);
    void visit(std::size_t level, std::size_t d, const Visit&) const;

    // Where a rank has bytes of its segment: a sum that is not complete; what is.
    Address partial(std::size_t level, const Segment&, std::size_t offset) const;
    Address complete(std::size_t level, const Segment&, std::size_t offset) const;
    std::vector<Move> moves(std::size_t level, std::size_t d, bool up, bool reduces) const;
    void meet(std::size_t level, bool up, bool reduces);
    void pass_on(const std::vector<Move>&, bool puts, std::size_t level, std::size_t domain, bool reduces);

    const Problem& problem_;
    Builder b_;
    std::vector<Level> levels_;
    std::vector<Address> partial_, complete_, slots_;  // of each level
    std::vector<int> offers_;  // that each rank has made
};

}  // namespace fanlight

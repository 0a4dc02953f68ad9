// A vector that is divided among nested domains: inside a domain each byte has one owner.  Where domains meet, in the
// surrounding one, it goes to one of its owners in them.
//
//     4 ranks, 01 | 23     first each owns all;  then 0 and 2 the first half, 1 and 3 the second;  then each a quarter
//
// On the way up the owners combine what they have, so each rank ends with the sum of its part.  On the way down the parts
// come to all.  Domains may differ in size: each gets shares in proportion to its ranks, so in the end every rank owns
// as much as any other, and no byte moves more often than it must.
//
// The domains are the topology's, divided until at most Parameters::degree meet.  The numbers that meet are the radices.
#pragma once

#include <cstddef>
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
    std::size_t domain_of(std::size_t level, int rank) const;
    int rank_at(std::size_t place) const { return order_[place]; }
    std::size_t place(int rank) const { return place_[static_cast<std::size_t>(rank)]; }

private:
    std::vector<int> order_;                        // the ranks by their places
    std::vector<std::size_t> place_;                // and back
    std::vector<std::vector<std::size_t>> starts_;  // of each level's domains, among the places; last, how many places
};

// What is the same in many domains is found once: all that are divided alike and have the root, if any, at the same
// place are of one kind.  So the schedule of one rank of 512 takes no longer than what it has to say, and still it
// knows what each rank needs at most.
class Shares : private Division {
public:
    explicit Shares(const Problem&);

    // From everybody's input: each owner gets the sum of its part.
    void reduce_up();
    // From the root's input: each owner gets its part.
    void scatter_up();
    // The parts to all ranks' output; of a reduce to the root's.
    void gather_down();
    Schedule finish();

private:
    struct Segment {
        std::size_t offset, bytes;
        std::size_t owner;   // its place in the domain
        std::size_t packed;  // where it lies if all of its owner's lie side by side
    };
    struct Kind {
        struct Part {
            std::size_t kind, begin;  // one of the level below, from this place of the domain on
        };
        std::vector<Part> parts;
        std::size_t root;                // its place; none: as many as there are ranks
        std::vector<Segment> segments;   // side by side
        // Of the rank at each place:
        std::vector<std::size_t> held;   // bytes
        std::vector<bool> in_one;        // whether its segments touch, here and in all levels below
        std::vector<std::size_t> since;  // the lowest level in which it had the same

        std::size_t ranks() const { return held.size(); }
    };
    struct Level {
        std::vector<Kind> kinds;
        std::vector<std::size_t> kind_of;  // each domain
        std::size_t most_held() const;
        bool all_in_one() const;
    };
    struct Move {
        std::size_t from, to;  // places in the domain
        Address source, target;
        std::size_t bytes;
        std::size_t part;    // of which of the domains that meet
        std::size_t packed;  // among what the target's rank will have
    };

    void divide(std::size_t level);
    void share_out(Kind&, std::size_t level) const;
    const Kind& kind(std::size_t level, std::size_t d) const { return levels_[level].kinds[levels_[level].kind_of[d]]; }
    // Where a rank has bytes of its segment: a sum that is not complete; what is.
    Address partial(const Kind&, const Segment&, std::size_t offset) const;
    Address complete(const Kind&, const Segment&, std::size_t offset) const;
    // Whether those that meet put to each other; else each offers what it has.
    static bool puts(const Kind& around, bool reduces);
    // Whether what meets in a part of `around` goes up or comes down there.
    bool takes_part(std::size_t level, const Kind& around, std::size_t part, bool up, bool reduces) const;
    // Each segment of a domain is made of one segment of each part: that which has this byte.
    const Segment& of_part(std::size_t level, const Kind& around, std::size_t part, std::size_t offset) const;
    // From and to the rank at this place, in ascending order.
    std::vector<Move> moves_of(std::size_t place, std::size_t level, const Kind& around, bool up, bool reduces) const;
    // What the rank at each place puts and offers there.
    std::vector<Bounds> told(std::size_t level, const Kind& around, bool up, bool reduces) const;
    std::vector<Bounds> told_of_puts(std::size_t level, const Kind& around, bool up, bool reduces) const;
    void meet(std::size_t level, bool up, bool reduces);
    void pass_on(const std::vector<Move>&, std::size_t level, std::size_t domain, bool reduces);

    const Problem& problem_;
    Builder b_;
    std::vector<Level> levels_;
    std::vector<Address> partial_, complete_, slots_;  // of each level
    std::vector<Bounds> told_;  // by the rank at each place, so far
};

}  // namespace fanlight

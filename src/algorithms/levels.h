// Collectives through the levels of a topology: up, from the ranks of the innermost domains to one representative of each,
// from these to one of each surrounding domain, and so on; and down again.
//
//     2x2x2     01 23 45 67  ->  0,2  4,6  ->  0,4       and back
#pragma once

#include <functional>
#include <vector>

#include "algorithms/level_names.h"
#include "algorithms/packing.h"
#include "schedule/composer.h"
#include "schedule/stages.h"

namespace fanlight {

// Up to here latency counts; longer vectors are combined, or passed on, in as many parts as ranks.
constexpr std::size_t longest_in_few_steps = 4096;
// A block of so many bytes goes straight to where it belongs, though others are passed on.
inline std::size_t straight_from(const Problem& p) { return p.parameters.minimum ? p.parameters.minimum : longest_in_few_steps + 1; }

// What the problem's rule names for a stage of so many; `own` where it names none of this operation, or
// one that cannot serve a group.
Composer::Algorithm algorithm_for(const Problem& whole, std::size_t stage, std::size_t last, Operation, Schedule (*own)(const Problem&));

// The problem's levels; none where the order of the ranks counts and those of a domain do not follow each other.
Topology levels_in_order(const Problem&);

// What runs inside where no rule names another: as the built-in rules have it for the ranks of one node.
Schedule inner_reduce(const Problem&);
Schedule inner_bcast(const Problem&);

// A composer that knows who meets whom: stage 0 is in the innermost domains, the last one between the
// outermost.  A domain is represented by the problem's root where it has it, else by its first rank, for
// prefixes by its last.
class Levels : public Composer {
public:
    explicit Levels(const Problem& whole);

    using Groups = Stages::Groups;
    const std::vector<Groups>& stages() const { return stages_.all(); }
    std::size_t last() const { return stages_.last(); }
    const std::vector<int>& order() const { return stages_.order(); }

    // Reduces vectors through all stages but the last; where a rank has what it takes to each stage.
    std::vector<Address> reduce_up(std::size_t bytes, Address from = input());
    // What a rule names for this stage, if it can serve there; else `own`.
    Algorithm chosen(std::size_t stage, Operation operation, Schedule (*own)(const Problem&)) const {
        return algorithm_for(whole(), stage, last(), operation, own);
    }
    // In the last stage.
    void between(Schedule (*algorithm)(const Problem&), Operation operation, std::size_t bytes, const BuffersOf& buffers) {
        add(chosen(last(), operation, algorithm), part(operation, bytes), stages().back(), buffers);
    }
    // Broadcasts through all stages but the last what the ranks of the last one have: in all domains, in the
    // root's outermost one, or in all others.
    enum class Where { everywhere, at_root, elsewhere };
    void bcast_down(std::size_t bytes, const BuffersOf&, Where = Where::everywhere);

    // Of a bcast: the root has the vector in its input, the others will in their output.
    BuffersOf from_root() const {
        return [this](int rank) { return Buffers{rank == whole().root ? input() : output(), output()}; };
    }
    // With the operator of the whole.
    Problem part(Operation, std::size_t bytes) const;

private:
    const Stages stages_;
};

// Blocks that travel together: before stage s a representative has those of all ranks that it stands for,
// side by side in the order of the places.
class LevelsOfBlocks : public Levels {
public:
    explicit LevelsOfBlocks(const Problem& whole);

    // Of all blocks.
    Address pack(bool here = true) { return packing_.pack(*this, here); }
    Address room_to_unpack() { return packing_.room_to_unpack(*this); }
    void unpack(Address packed, bool here = true) { packing_.unpack(*this, packed, here); }
    std::size_t total() const { return packing_.bytes(); }

    // Where a rank has them.
    using At = std::function<Address(std::size_t stage, int rank)>;
    // Its own block in `own`; the root all of them in `all`, packed; what others hold on the way in scratch.
    At held(Address own, Address all);
    // Whether the root's blocks are long and do not lie packed: then it takes them from their places, or brings them
    // there, one after the other, and there is no `all`.
    bool at_their_places() const { return at_their_places_; }
    // Through the first `count` stages: from before to behind them, or back.
    void gather_up(std::size_t count, const At&);
    void scatter_down(std::size_t count, const At&);
    // With what this leaves of each stage's groups.
    void keep(std::function<void(std::size_t stage, Groups&)> some) { keep_ = std::move(some); }
    // In the last stage, each rank with what it stands for.
    void between(Schedule (*algorithm)(const Problem&), Operation operation, const BuffersOf& buffers) {
        add(chosen(last(), operation, algorithm), [&](const Group& g) { return part(operation, last(), g); }, stages().back(), buffers);
    }

    // What a rank has before the stage, when all are packed.
    std::size_t offset(std::size_t stage, int rank) const { return of_stage_[stage][static_cast<std::size_t>(rank)].offset; }
    std::size_t bytes(std::size_t stage, int rank) const { return of_stage_[stage][static_cast<std::size_t>(rank)].bytes; }

private:
    // The blocks of the group's ranks, from the place of the first one on.
    Problem part(Operation, std::size_t stage, const Group&) const;
    // A gather or a scatter.
    void move(Operation, Schedule (*own)(const Problem&), std::size_t stage, const At&);
    // In the root's group alone, block after block.
    void move_one_by_one(const Problem&, Schedule (*own)(const Problem&), std::size_t stage, const Group&, const At&);

    std::function<void(std::size_t, Groups&)> keep_;
    Packing packing_;
    bool at_their_places_;
    std::vector<std::vector<Block>> of_stage_;                 // and of rank
    // The ranks that it stands for: so many of order(), from a place on.
    struct Places {
        std::size_t first, count;
    };
    std::vector<std::vector<Places>> places_;  // of stage and of rank, if at_their_places()
};

}  // namespace fanlight

// Collectives through the levels of a topology: up, from the ranks of the innermost domains to one
// representative of each, from these to one of each domain around them and so on; and down again.
//
//     2x2x2     01 23 45 67  ->  0,2  4,6  ->  0,4       and back
#pragma once

#include <functional>
#include <vector>

#include "algorithms/level_names.h"
#include "schedule/composer.h"

namespace fanlight {

// Up to here latency counts; longer vectors are combined, or passed on, in as many parts as ranks.
constexpr std::size_t longest_in_few_steps = 4096;

// What the problem's rule names for a stage of so many; `own` where it names none of this operation, or
// one that cannot serve a group.
Composer::Algorithm algorithm_for(const Problem& whole, std::size_t stage, std::size_t last, Operation, Schedule (*own)(const Problem&));

// A composer that knows who meets whom: stage 0 is in the innermost domains, the last one between the
// outermost.  A domain is represented by the problem's root where it has it, else by its first rank.  All are
// in one where the order counts (of prefixes, of blocks that travel together, where the operator does not
// commute) and a domain's ranks, or all blocks, do not follow each other.
class Levels : public Composer {
public:
    explicit Levels(const Problem& whole);

    using Groups = std::vector<Group>;
    const std::vector<Groups>& stages() const { return stages_; }
    std::size_t last() const { return stages_.size() - 1; }

    // Reduces vectors through all stages but the last; where a rank has what it takes to each stage.
    std::vector<Address> reduce_up(std::size_t bytes);
    // What a rule names for this stage, if it can serve there; else `own`.
    Algorithm chosen(std::size_t stage, Operation operation, Schedule (*own)(const Problem&)) const {
        return algorithm_for(whole(), stage, last(), operation, own);
    }
    // In the last stage.
    void between(Schedule (*algorithm)(const Problem&), Operation operation, std::size_t bytes, const BuffersOf& buffers) {
        add(chosen(last(), operation, algorithm), part(operation, bytes), stages_.back(), buffers);
    }
    // Broadcasts through all stages but the last what the ranks of the last one have.
    void bcast_down(std::size_t bytes, const BuffersOf&);

    // Of a bcast: the root has the vector in its input, the others will in their output.
    BuffersOf from_root() const {
        return [this](int rank) { return Buffers{rank == whole().root ? input() : output(), output()}; };
    }
    // With the operator of the whole.
    Problem part(Operation, std::size_t bytes) const;

private:
    std::vector<Groups> stages_;
};

// Blocks that travel together: before stage s a representative has those of all ranks that it stands for,
// as they lie in the buffer of all blocks.
class LevelsOfBlocks : public Levels {
public:
    explicit LevelsOfBlocks(const Problem& whole);

    // Where a rank has them.
    using At = std::function<Address(std::size_t stage, int rank)>;
    // Its own block in `own`; the root all of them in `all`; what others hold on the way in scratch.
    At held(Address own, Address all);
    // Through the first `count` stages: from before to behind them, or back.
    void gather_up(std::size_t count, const At&);
    void scatter_down(std::size_t count, const At&);
    // In the last stage, each rank with what it stands for.
    void between(Schedule (*algorithm)(const Problem&), Operation operation, const BuffersOf& buffers) {
        add(chosen(last(), operation, algorithm), [&](const Group& g) { return part(operation, last(), g); }, stages().back(), buffers);
    }

    Address first() const { return output(whole().block(0).offset); }
    std::size_t total() const;
    std::size_t offset(std::size_t stage, int rank) const { return of_stage_[stage][static_cast<std::size_t>(rank)].offset; }

private:
    // The blocks of the group's ranks, from the place of the first one on.
    Problem part(Operation, std::size_t stage, const Group&) const;

    std::vector<std::vector<Block>> of_stage_;  // and of rank
};

}  // namespace fanlight

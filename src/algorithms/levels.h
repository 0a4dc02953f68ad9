// Collectives through the levels of a topology: up, from the ranks of the innermost domains to one
// representative of each, from these to one of each domain around them and so on; and down again.
//
//     2x2x2     01 23 45 67  ->  0,2  4,6  ->  0,4       and back
#pragma once

#include <functional>
#include <vector>

#include "schedule/composer.h"

namespace fanlight {

// Who meets whom: stage 0 is in the innermost domains, the last one between the outermost.  A domain is
// represented by the problem's root where it has it, else by its first rank.  All are in one where the
// order counts (of prefixes, of blocks that travel together, where the operator does not commute) and
// a domain's ranks, or all blocks, do not follow each other.
std::vector<std::vector<Composer::Group>> stages(const Problem&);

// Up to here latency counts; longer vectors are combined, or passed on, in as many parts as ranks.
constexpr std::size_t longest_in_few_steps = 4096;

// What all parts of a vector operation have in common.
Problem part_of(const Problem&, Operation);

// The vector of a bcast or allreduce at `rank`, on its way down: the root of a bcast has it in its input.
Composer::Buffers going_down(const Problem&, int rank);

// Reduces the vectors of this part through all stages but the last; where a rank has what it takes to
// each stage.
std::vector<Address> reduce_up(Composer&, const Problem& part, const std::vector<std::vector<Composer::Group>>& stages);
// Broadcasts through all stages but the last what the ranks of the last one have.
void bcast_down(Composer&, const Problem&, const std::vector<std::vector<Composer::Group>>& stages);

// Blocks that travel together: before stage s the representative `rank` has those of all ranks that it
// stands for, of_stage[s][rank], as they lie in the buffer of all blocks.
struct BlocksThroughLevels {
    std::vector<std::vector<Block>> of_stage;

    BlocksThroughLevels(const Problem&, const std::vector<std::vector<Composer::Group>>& stages);
    std::size_t total() const;
    // Those of the group's ranks, from the place of the first one on.
    Problem part(Operation, std::size_t stage, const Composer::Group&) const;
    // Where a rank has them.
    using At = std::function<Address(std::size_t stage, int rank)>;
    // Through the first `count` stages: from before to behind them, or back.
    void gather(Composer&, const std::vector<std::vector<Composer::Group>>& stages, std::size_t count, const At&) const;
    void scatter(Composer&, const std::vector<std::vector<Composer::Group>>& stages, std::size_t count, const At&) const;
    // From the place of the first of all those that `rank` ever has.
    std::size_t offset(std::size_t stage, int rank) const;
    // The most that a rank other than `root` has; -1: any rank.
    std::size_t most(int root = -1) const;
};

}  // namespace fanlight

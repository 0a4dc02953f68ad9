// Collectives through the levels of a topology: up, from the ranks of the innermost domains to one
// representative of each, from these to one of each domain around them and so on; and down again.
//
//     2x2x2     01 23 45 67  ->  0,2  4,6  ->  0,4       and back
#pragma once

#include <vector>

#include "schedule/composer.h"

namespace fanlight {

// Who meets whom: stage 0 is in the innermost domains, the last one between the outermost.  A domain is
// represented by the problem's root where it has it, else by its first rank.  Where the operator does
// not commute and a domain's ranks do not follow each other, all are in one.
std::vector<std::vector<Composer::Group>> stages(const Problem&);

// Up to here latency counts; longer vectors' combining is spread over the ranks.
constexpr std::size_t most_bytes_of_a_short_reduction = 4096;

// What all parts of a vector operation have in common.
Problem part_of(const Problem&, Operation);

// The vector of a bcast or allreduce at `rank`, on its way down: the root of a bcast has it in its input.
Composer::Buffers going_down(const Problem&, int rank);

// Reduces through all stages but the last; where a rank then has what it takes to the last one.
Address reduce_up(Composer&, const Problem&, const std::vector<std::vector<Composer::Group>>& stages);
// Broadcasts through all stages but the last what the ranks of the last one have.
void bcast_down(Composer&, const Problem&, const std::vector<std::vector<Composer::Group>>& stages);

}  // namespace fanlight

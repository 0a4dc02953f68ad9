// MPI's definition of each operation: which bytes of a rank's buffers exist, and what the output must hold at the end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight::symbolic {

struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// Sorted, disjoint, not empty, neighbors joined.
using Ranges = std::vector<Range>;

// What is wrong with the problem's blocks themselves; empty if nothing is: there must be one for
// each rank, for alltoallv what a rank sends must be as long as what its peer receives, and a
// neighborhood's edges must lie between its ranks.
std::string fault_of_blocks(const Problem& whole);

// The bytes that this rank may touch at all: of the output those that receive a result, so
// neither the gaps between blocks nor what MPI leaves alone (reduce at the other ranks, rank
// 0 of exscan).  `whole` is the problem as the root knows it.
Ranges bytes_of_input(const Problem& whole, int rank);
Ranges bytes_of_output(const Problem& whole, int rank);
bool inside(const Ranges&, Range);

// A range of the output, and which input bytes it must hold: those from `offset` on of one
// rank (last == first + 1), or the combination of those of ranks [first, last).
struct Expected {
    Range at;
    int first = 0;
    int last = 0;
    std::size_t offset = 0;
};

// Together these are bytes_of_output().
std::vector<Expected> expected_output(const Problem& whole, int rank);

}  // namespace fanlight::symbolic

// All ranks' schedules of one collective together, as the verifier, the counter, the cost
// model and the drawing need them.
#pragma once

#include <span>
#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

// The problem as this rank knows it.  `whole` is the problem as the root knows it: for
// gatherv and scatterv every block; a rank that is not the root keeps its own length, and on the levels of a
// topology those of the ranks that it stands for.  For alltoallv a rank keeps its own two lists, and may pass on
// whatever goes between others; of a neighborhood its own edges.
Problem problem_at(const Problem& whole, int rank);

// An alltoallv as a whole: what rank r has for rank s are lengths[r * size + s] bytes; the blocks
// of a buffer lie `gap` bytes apart, in rank order.
void set_exchange(Problem& whole, std::span<const std::size_t> lengths, std::size_t gap = 0);

// The same lengths, one behind the other in rank order.
void lay_side_by_side(Problem& whole);

// A neighborhood as a whole, of edges whose ends and lengths are given: blocks lie `gap` bytes apart
// at both ends, in the order of the edges.  Of neighbor_allgather a rank has one block.
void set_edges(Problem& whole, std::vector<Edge> edges, std::size_t gap = 0);
// Everybody's neighbors are the ranks before and behind it, as in a periodic grid of one dimension.
void set_ring(Problem& whole, std::size_t bytes);

std::vector<Schedule> schedules_of_all(Schedule (*algorithm)(const Problem&), const Problem& whole);

}  // namespace fanlight

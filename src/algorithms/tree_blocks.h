// Blocks that go up or down a tree, those of each subtree side by side.
#pragma once

#include "algorithms/trees.h"
#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace fanlight {

// A gather: a node keeps its subtree's blocks in scratch, in the order of the ranks, until all are there.
Schedule gather_up(const Problem&, const Tree&);
// A scatter: the largest subtree's first; a node keeps its subtree's blocks in scratch until they have gone on.
Schedule scatter_down(const Problem&, const Tree&);

}  // namespace fanlight

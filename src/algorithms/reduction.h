// The reductions that several operations share: up a tree (reduce and allreduce), and around the ring; and a broadcast down
// a tree.
#pragma once

#include <functional>

#include "algorithms/trees.h"
#include "schedule/builder.h"

namespace fanlight {

// Combines this rank's input with its children's results into `here`, and puts the outcome to
// the parent's `at_parent`.  Rank order is kept: a child's ranks are all below or all above
// its parent's.  Ends its last round.
void reduce_up(Builder&, const Problem&, const Tree&, Address here, Address at_parent);

// The same by reads: this rank combines its input with what its children offer into `here`, and
// offers the outcome to its parent as its first offer.  `here` is this rank's first reservation,
// at the root the output.  Ends its last round.
void read_up(Builder&, const Problem&, const Tree&, Address here);

// Reduces the own block into the output, around the ring: this rank's own share r, then those of the
// ranks r - 1, r - 2, ...  `fetch` brings the share of round i to the output, by whatever it moves data
// with; the same order in all, so that they give the same bits.
void reduce_around(Builder&, const Problem&, const std::function<void(int i, Order)>& fetch);

// A broadcast by puts, from the input of the tree's root to all others' output.
Schedule put_down(const Problem&, const Tree&);
// A reduce by puts, to the output of the problem's root.
Schedule put_up(const Problem&, const Tree&);

}  // namespace fanlight

// The way up a binomial tree, which reduce and allreduce share.
#pragma once

#include "algorithms/trees.h"
#include "schedule/builder.h"

namespace fanlight {

// Combines this rank's input with its children's results into `here`, and puts the outcome to
// the parent's `at_parent`.  Rank order is kept: a child's ranks are all below or all above
// its parent's.  Ends its last round.
void reduce_up(Builder&, const Problem&, const BinomialTree&, Address here, Address at_parent);

}  // namespace fanlight

// The first half of both ring broadcasts: parts of the vector are scattered down a binomial tree.
#pragma once

#include "algorithms/trees.h"
#include "schedule/builder.h"

namespace fanlight::bcast_algorithms {

// The ranks are numbered from the root on ("relative"), as in the paper: part i belongs to
// relative rank i, and relative rank i gets the parts of its whole subtree, i .. i + count - 1.
Tree tree_of_parts(const Problem&, int relative_rank);

// Receives this rank's parts and puts the children's; on all ranks but the root the vector's
// byte 0 would come to `vector`.  The root puts from its input, and also copies it to its
// output.  Ends its last round.
void scatter_parts(Builder&, const Problem&, const Tree&, Address vector);

}  // namespace fanlight::bcast_algorithms

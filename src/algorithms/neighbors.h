// The steps of neighborhoods: along each edge its block is put, or read from its owner's offer.
//
// A rank knows only its own edges.  So whether an edge's block is put or read, and in how many pieces, must follow from
// what both ends know: its length, where they are, and the parameters.
#pragma once

#include "schedule/builder.h"

namespace fanlight {

// Those from a rank to itself.
void copy_own_edges(Builder&, const Problem&);

// What is put: all blocks, or those alone that are not read.
void put_edges(Builder&, const Problem&, bool (*is_read)(const Edge&, const Problem&) = nullptr);

// What is read: one offer of all such blocks, from the first to the last, and a get for each.
// Shorter ones than Parameters::minimum, those longer than a piece, and those between nodes are not: there a
// get is a message whose owner knows its reader's steps.
bool edge_is_read(const Edge&, const Problem&);
void read_edges(Builder&, const Problem&);

}  // namespace fanlight

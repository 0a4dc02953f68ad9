// The steps of neighborhoods: along each edge its block is put, or read from what its owner offers.
//
// A rank knows its own edges alone, so that whether an edge's block is put or read, and in how many
// pieces, must follow from what both its ends know: its length and the parameters.
#pragma once

#include "schedule/builder.h"

namespace fanlight {

// Those from a rank to itself.
void copy_own_edges(Builder&, const Problem&);

// What is put: all blocks, or those alone that are not read.
void put_edges(Builder&, const Problem&, bool (*is_read)(const Edge&, const Parameters&) = nullptr);

// What is read: one offer of all such blocks, from the first to the last, and a get for each.
// Shorter ones than Parameters::minimum, and those longer than a piece, are not.
bool edge_is_read(const Edge&, const Parameters&);
void read_edges(Builder&, const Problem&);

}  // namespace fanlight

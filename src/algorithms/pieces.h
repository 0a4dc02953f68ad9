// Puts along edges whose lengths their two ends alone know, in pieces (Parameters::piece; 0: whole).
//
// In the first round the first piece of each, the next ones in the rounds behind: the pieces of a
// long block are rounds of one operation, and no rank needs to know how many another one has.
#pragma once

#include <span>

#include "schedule/builder.h"

namespace fanlight {

struct PutEdge {
    Edge edge;
    int turn = 0;  // those of a turn begin when the ones of the turn before have ended
};
void put_in_pieces(Builder&, const Problem&, std::span<const PutEdge>);

}  // namespace fanlight

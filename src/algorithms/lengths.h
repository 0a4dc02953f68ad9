// Blocks that other ranks pass on although no rank knows all lengths: by levels (gatherv, scatterv, alltoallv) or by digits
// (alltoallv).
//
// The lengths travel first, the same way.  Then a rank that represents others knows theirs, the root knows all,
// and every other rank knows its own; a rank's part of the schedule depends on nothing else.  In an alltoallv by levels the ranks
// of a domain tell each other the lengths of what they pass on.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "algorithms/registry.h"
#include "schedule/composer.h"
#include "schedule/problem.h"

namespace fanlight {

// How they travel; null where none must, since the ranks' own do.
const Algorithm* lengths_first(const Algorithm&);
// Whether they do for this problem; alike on all ranks.
bool lengths_travel(const Algorithm&, const Problem&);
// The collective that this is, 8 bytes for each length.  A rank has those in its input that it tells (told_lengths); who
// passes others' on will have their lengths at their places in its output.
Problem lengths_of(const Algorithm&, const Problem& whole);
// The same as this rank knows it; by digits without edges, of which its schedule needs none.
Problem own_lengths_of(const Algorithm&, const Problem&);
// Those whose lengths lie in the input, as far as this rank tells them: gatherv and scatterv: in the order of the stages;
// alltoallv: for whom a block is, in the order of the lanes or of the ranks.
std::vector<int> told_lengths(const Algorithm&, const Problem&);
// So many places has the output.
std::size_t places_of_lengths(const Algorithm&, const Problem&);
// The place of a block's length, and between whom it goes: those which this rank will hear.
struct Awaited {
    std::size_t place;
    int from, to;
};
std::vector<Awaited> awaited_lengths(const Algorithm&, const Problem&);
// No fewer bytes than a rank stages to tell lengths, with so many ranks on so many nodes, at most so many of them on one.
std::size_t most_told(const Algorithm&, int ranks, int nodes, int near);

// What goes through the levels, and what straight from its owner to the root, or from there: each block's length
// decides, which all ranks that it passes know.
class ByLength {
public:
    explicit ByLength(const Problem&);

    Problem short_blocks;  // the others have no bytes here
    // The others, as a part of the composition.
    void move_straight(Composer&, Schedule (*)(const Problem&)) const;

private:
    Problem long_blocks_;
    Composer::Group owners_;  // as far as this rank knows them, and the root
};

}  // namespace fanlight

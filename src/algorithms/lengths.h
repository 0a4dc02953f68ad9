// Blocks that go through the levels of a topology although no rank knows all lengths (gatherv, scatterv, alltoallv).
//
// The lengths travel first, through the same levels.  Then a rank that represents others knows theirs, the root knows all,
// and every other rank knows its own; a rank's part of the schedule depends on nothing else.  In an alltoallv the ranks of a
// domain tell each other the lengths of what they pass on.
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
// The collective that this is, 8 bytes for each length.  A rank has its own in its input, scatterv's root all of them
// in the order of the places; who stands for others will have theirs at their places in its output.
Problem lengths_of(const Problem& whole);
// Which rank's is at which place: in the order of the stages, or of the lanes.
std::vector<int> places_of_lengths(const Problem&);
// The place, and the block of this rank's problem that has it from then on: those which this rank will hear.
std::vector<std::pair<std::size_t, std::size_t>> awaited_lengths(const Problem&);
std::vector<Block>& blocks_of_awaited(Problem&);

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

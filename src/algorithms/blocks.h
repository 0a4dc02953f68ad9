// Several adjacent blocks in as few steps as their layout allows, and a vector's parts.
#pragma once

#include <vector>

#include "schedule/builder.h"

namespace fanlight {

// Bytes that one step can move.
struct BlockRun {
    std::size_t offset = 0;  // in the buffer that holds all blocks
    std::size_t packed = 0;  // if the blocks lay side by side, the first one at 0
    std::size_t bytes = 0;
};

// Blocks first .. first + count - 1, wrapping around behind the last rank: one run (two if
// they wrap around) where blocks of equal length touch, otherwise one run for each block.  All ranks get
// the same runs for the same blocks, so that puts and arrives match.
std::vector<BlockRun> runs(const Problem&, int first, int count);

// Offers the input's blocks to the other ranks, before anything else is offered.  Among few ranks
// to each its own, so that nothing is staged that nobody reads; else all to all as one, for which
// blocks that do not touch are packed in scratch first: that is this rank's first reservation.
// Rank r finds its own at offered_block(), in the offer offer_of_block() of the owner.  Returns
// how many offers of a rank are these.
int offer_blocks(Builder&, const Problem&);
Address offered_block(const Problem&, int r);
int offer_of_block(const Problem&, int owner, int r);

// How many those are among so many ranks.
int offers_of_blocks(int ranks);
// The most that a rank can make in one operation.
constexpr int most_offers = 8;

// The length of blocks 0 .. r - 1 together: where block r lies when they are packed.
std::size_t packed_offset(const Problem&, int r);
// The same for all ranks, and behind the last one.
std::vector<std::size_t> packed_offsets(const Problem&);

// What no rank exceeds: `messages(rank, add)` adds the lengths of those that a rank puts or offers.  Few ranks are asked
// for their schedules instead, which is as quick.
template <class Messages>
Bounds bounds_of_all(const Problem& problem, int offers, Messages messages) {
    constexpr int few = 32;
    if (problem.size <= few) return {};
    Bounds most;
    for (int r = 0; r < problem.size; ++r) {
        Bounds own{.offers = offers};
        messages(r, [&](std::size_t bytes) { own.add(bytes); });
        most.raise(own);
    }
    most.known = most.exact = true;
    return most;
}

// Blocks that lie at the same place here and at the peer, in the buffer of all blocks.
void put_blocks(Builder&, const Problem&, int peer, Buffer, int first, int count);
void arrive_blocks(Builder&, const Problem&, int peer, Buffer, int first, int count);

// The same for the parts of a vector, which lie where they lie.
int offer_parts(Builder&, const Problem&);

// Part i of the vector cut into Problem::size parts, each whole elements and as even as
// possible; with fewer elements than ranks some parts are empty.
Block part(const Problem&, int i);
// Parts first .. first + count - 1 as one; without wrap-around.
Block parts(const Problem&, int first, int count);

}  // namespace fanlight

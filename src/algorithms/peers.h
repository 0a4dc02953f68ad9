// In which order a rank visits the others, and how it combines what it reads from them.
#pragma once

#include <functional>
#include <vector>

#include "schedule/builder.h"

namespace fanlight {

// All other ranks, from rank + 1 + Parameters::shift on: were rank 0 the first for everybody,
// all would read it at the same time.
std::vector<int> others(const Problem&);

// to = operand of rank 0 (+) operand of rank 1 (+) ... (+) operand of rank end - 1, strictly
// from the left: ((a0 + a1) + a2) + ...  Every rank that does so gets the same bits.
//
// The own operand is read at `own`, the peers' at `theirs`, in the offer of theirs that `offer`
// gives the number of.  The first operand is not copied to be combined later: where it can be
// read from a peer, it is got and this rank's own combined with it in the next round, which the
// executor runs as one pass over the memory.  Begins in the current round; ends its last.
struct Operands {
    int end = 0;
    Address own;
    Address theirs;
    std::function<int(int peer)> offer;
    std::size_t bytes = 0;
};
inline int first_offer(int) { return 0; }
void combine_in_rank_order(Builder&, const Problem&, const Operands&, Address to);

}  // namespace fanlight

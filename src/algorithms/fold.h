// Reduces any number of ranks to a power of two, for algorithms whose partners are at distance 1, 2, 4 ...
#pragma once

#include <bit>

namespace fanlight {

// Where P is no power of two, the first ranks are folded in pairs of neighbors (2i, 2i + 1), so
// that rank order is kept: 2i gives what it has to 2i + 1, which takes part for both and gives
// the result back.  Those that take part are numbered from 0.
struct Fold {
    int count;  // how many take part: the largest power of two that is not above P
    int pairs;  // how many pairs are folded into one each

    explicit Fold(int size)
        : count(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
          pairs(size - count) {}
    bool in_pair(int rank) const { return rank < 2 * pairs; }
    // Takes no part itself; rank + 1 does.
    bool folded(int rank) const { return in_pair(rank) && rank % 2 == 0; }
    int number(int rank) const { return in_pair(rank) ? rank / 2 : rank - pairs; }
    int rank(int number) const { return number < pairs ? 2 * number + 1 : number + pairs; }
    // The first rank for which this number stands; those of numbers n .. n + d - 1 are the ranks
    // first(n) .. first(n + d) - 1.
    int first(int number) const { return number < pairs ? 2 * number : number + pairs; }
};

}  // namespace fanlight

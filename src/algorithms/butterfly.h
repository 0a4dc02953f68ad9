// Butterflies of a power of two of ranks: in every step each meets another, and what a step divides stays divided.
#pragma once

#include <bit>
#include <vector>

#include "algorithms/trees.h"
#include "schedule/builder.h"

namespace fanlight {

// Those who have met the same way before step k hold the same part; in step k they meet in pairs, of which one keeps
// the upper half of it.
//
// Plain: partners at distance 1, 2, 4 ...  Bine: at distance 1, 1, 3, 5, 11 ..., the sums of the powers of -2, even ranks
// one way and odd ones the other, the last rank next to the first: about 2/3 as far.
class Butterfly {
public:
    Butterfly(int count, bool bine) : count_(count), bine_(bine) {}

    int steps() const { return std::countr_zero(static_cast<unsigned>(count_)); }
    int partner(int k, int n) const {
        if (!bine_) return n ^ 1 << k;
        return (n + (n % 2 == 0 ? 1 : -1) * distance(k)) & (count_ - 1);
    }
    bool upper(int k, int n) const {
        if (!bine_) return (n >> k & 1) != 0;
        // Steps from k + 1 on lead to ranks that differ by multiples of 2^(k+2), and to odd ones as far from those.
        return k + 1 == steps() ? n % 2 != 0 : ((n % 2 == 0 ? n : n - distance(k + 1)) >> (k + 1) & 1) != 0;
    }
    // Of as many parts as ranks: that which a rank holds alone in the end.
    int part(int n) const {
        int first = 0;
        for (int k = 0; k < steps(); ++k) first += upper(k, n) ? count_ >> (k + 1) : 0;
        return first;
    }

private:
    static int distance(int k) { return (1 + (k % 2 == 0 ? 2 : -2) * (1 << k)) / 3; }

    int count_;
    bool bine_;
};

// The blocks of all ranks packed in the order of the parts that ranks hold in the end.
class PackedParts {
public:
    PackedParts(const Problem&, const Butterfly&);

    std::size_t bytes(int first, int count) const;
    // With whom this rank meets in step k, and which half each keeps.
    struct Step {
        int partner;
        Block mine, theirs;
    };
    Step step(int k) const;

private:
    const Butterfly& butterfly_;
    const int rank_, size_;
    std::vector<std::size_t> starts_;
};

// An allreduce: a reduce_scatter of the vector's parts and the way back, the first ranks folded in pairs where P is no
// power of two (fold.h).
Schedule halve_and_double(const Problem&, bool bine);

// The tree in which the root's data goes along the steps of Bine's butterfly, the farthest first; its subtrees say
// nothing of ranks' order.
Tree bine_tree(int rank, int size, int root);

}  // namespace fanlight

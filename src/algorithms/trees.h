// The binomial tree that keeps rank order, for any root and any size.
#pragma once

#include <vector>

namespace fanlight {

// Aligned groups of 2, 4, 8 ... ranks are merged level by level; a group is represented by the
// root if it holds it, otherwise by its first rank.  With 6 ranks and root 3 (to the right: up):
//
//     0 -- 1           ranks 0..1 -> 0
//     2 --------- 3    ranks 2..3 -> 3, the root
//     4 -- 5           ranks 4..5 -> 4;  then 0 -> 3 and 4 -> 3
//
// For root 0 this is the usual binomial tree.  In contrast to the usual one, which renumbers
// the ranks from the root on, every subtree is an interval of ranks without wrap-around for
// every root: operators need not commute, and gathered blocks lie in place.
struct Subtree {
    int rank = 0;   // its top
    int first = 0;  // the ranks in it: first .. first + count - 1
    int count = 1;
};

struct BinomialTree {
    int parent = -1;                // -1 at the root
    Subtree own;                    // this rank and all below it
    Subtree parents;                // the parent's own subtree; unset at the root
    std::vector<Subtree> children;  // the smallest subtree first
};

BinomialTree binomial_tree(int rank, int size, int root);

}  // namespace fanlight

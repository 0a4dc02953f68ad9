// The trees that keep rank order, for any degree, root and size.
#pragma once

#include <vector>

#include "schedule/problem.h"

namespace fanlight {

// Degree k > 1: aligned groups of k, k^2, k^3 ... ranks are merged level by level; a group is
// represented by the root if it holds it, otherwise by its first rank, and the representatives of
// the groups that are merged become the children of one of them.  Degree 2 is the binomial tree.
// With 6 ranks and root 3 (to the right: up):
//
//     0 -- 1           ranks 0..1 -> 0
//     2 --------- 3    ranks 2..3 -> 3, the root
//     4 -- 5           ranks 4..5 -> 4;  then 0 -> 3 and 4 -> 3
//
// Degree 1: a chain on either side of the root, 0 -> 1 -> 2 -> 3 <- 4 <- 5.
//
// For root 0 these are the usual trees.  In contrast to the usual ones, which renumber the ranks
// from the root on, every subtree is an interval of ranks without wrap-around for every root:
// operators need not commute, and gathered blocks lie in place.
struct Subtree {
    int rank = 0;   // its top
    int first = 0;  // the ranks in it: first .. first + count - 1
    int count = 1;
};

struct Tree {
    int parent = -1;                // -1 at the root
    Subtree own;                    // this rank and all below it
    Subtree parents;                // the parent's own subtree; unset at the root
    // The smallest subtree first; on either side of this rank the nearest one first, so that the
    // ranks that are taken in child by child are always an interval.
    std::vector<Subtree> children;

    std::vector<int> ranks_of_children() const;
};

Tree tree(int degree, int rank, int size, int root);
inline Tree binomial_tree(int rank, int size, int root) { return tree(2, rank, size, root); }
// Of the ranks first .. first + count - 1, the last one its root: below each rank lie the one before it and the one
// before that one's subtree, each with half of the ranks there.
Tree binary_tree(int rank, int first, int count);
// Of Parameters::degree, or of this one where that is not set.
Tree tree_for(const Problem&, int root, int default_degree);

}  // namespace fanlight

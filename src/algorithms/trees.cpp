#include "algorithms/trees.h"

#include <algorithm>

namespace fanlight {
namespace {

// The aligned group of `width` ranks around `rank`, as a subtree; count 0 if it is empty.
Subtree group_at(int first, int width, int size, int root) {
    const int count = std::clamp(size - first, 0, width);
    const bool holds_root = first <= root && root < first + count;
    return {holds_root ? root : first, first, count};
}

Subtree group_of(int rank, int width, int size, int root) {
    return group_at(rank / width * width, width, size, root);
}

}  // namespace

BinomialTree binomial_tree(int rank, int size, int root) {
    BinomialTree tree;
    tree.own = group_of(rank, 1, size, root);
    // From groups of one on, for as long as this rank represents its group.
    for (int width = 1; width < size; width *= 2) {
        const Subtree whole = group_of(rank, 2 * width, size, root);
        if (whole.rank != rank) {
            tree.parent = whole.rank;
            break;
        }
        const bool in_left_half = rank < whole.first + width;
        const Subtree other =
            group_at(in_left_half ? whole.first + width : whole.first, width, size, root);
        if (other.count > 0) tree.children.push_back(other);
        tree.own = whole;
    }
    if (tree.parent >= 0) {
        // The parent may represent larger groups than the one in which it is met here.
        tree.parents = {tree.parent, tree.parent, 1};
        for (int width = 1; width < 2 * size; width *= 2) {
            const Subtree group = group_of(tree.parent, width, size, root);
            if (group.rank == tree.parent) tree.parents = group;
        }
    }
    return tree;
}

}  // namespace fanlight

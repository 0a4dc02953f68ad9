#include "algorithms/trees.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace fanlight {
namespace {

// Degrees from the chain to the flat tree.
constexpr int degrees[] = {1, 2, 3, 4, 7, 64};

// How many messages must follow each other on the way from the root to the leaves, if each
// rank sends one at a time.
int depth(int rank, int size, int root) {
    int deepest = 0;
    int sent = 0;
    const Tree tree = binomial_tree(rank, size, root);
    for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
        deepest = std::max(deepest, ++sent + depth(child->rank, size, root));
    return deepest;
}

TEST(Tree, parents_and_children_agree_and_subtrees_are_intervals) {
  for (int degree : degrees)
    for (int size = 1; size <= 24; ++size)
        for (int root = 0; root < size; ++root)
            for (int rank = 0; rank < size; ++rank) {
                const Tree tree = fanlight::tree(degree, rank, size, root);
                ASSERT_EQ(tree.parent < 0, rank == root);
                std::vector<int> covered(static_cast<std::size_t>(size), 0);
                ++covered[static_cast<std::size_t>(rank)];
                for (const Subtree& child : tree.children) {
                    const Tree below = fanlight::tree(degree, child.rank, size, root);
                    ASSERT_EQ(below.parent, rank);
                    ASSERT_EQ(below.own.first, child.first);
                    ASSERT_EQ(below.own.count, child.count);
                    ASSERT_EQ(below.parents.first, tree.own.first);
                    ASSERT_EQ(below.parents.count, tree.own.count);
                    for (int r = child.first; r < child.first + child.count; ++r)
                        ++covered[static_cast<std::size_t>(r)];
                }
                for (int r = 0; r < size; ++r) {
                    const bool below = tree.own.first <= r && r < tree.own.first + tree.own.count;
                    ASSERT_EQ(covered[static_cast<std::size_t>(r)], below ? 1 : 0);
                }
                if (rank == root) {
                    ASSERT_EQ(tree.own.count, size);
                }
            }
}

// So that a reduction that takes in child by child keeps rank order.
TEST(Tree, children_extend_an_interval) {
    for (int degree : degrees)
        for (int size = 1; size <= 24; ++size)
            for (int root = 0; root < size; ++root)
                for (int rank = 0; rank < size; ++rank) {
                    int begin = rank, end = rank + 1;
                    for (const Subtree& child : tree(degree, rank, size, root).children) {
                        ASSERT_TRUE(child.first == end || child.first + child.count == begin);
                        begin = std::min(begin, child.first);
                        end = std::max(end, child.first + child.count);
                    }
                }
}

TEST(Tree, a_binomial_one_is_as_deep_as_the_logarithm) {
    for (int size = 1; size <= 64; ++size)
        for (int root = 0; root < size; ++root)
            EXPECT_LE(depth(root, size, root),
                      static_cast<int>(std::bit_width(static_cast<unsigned>(size - 1))));
}

}  // namespace
}  // namespace fanlight

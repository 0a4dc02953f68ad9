#include "topology/nodes.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fanlight {
namespace {

std::vector<int> list(std::span<const int> s) { return {s.begin(), s.end()}; }

TEST(Nodes, AreNumberedByTheirLowestRank) {
    const NodeMap map(std::vector<int>{7, 3, 7, 7, 3});
    EXPECT_EQ(map.ranks(), 5);
    EXPECT_EQ(map.nodes(), 2);
    EXPECT_EQ(list(map.members(0)), (std::vector<int>{0, 2, 3}));
    EXPECT_EQ(list(map.members(1)), (std::vector<int>{1, 4}));
    EXPECT_EQ(map.leader(1), 1);
    EXPECT_EQ(map.node(3), 0);
    EXPECT_EQ(map.local(3), 2);
    EXPECT_EQ(map.local(4), 1);
    EXPECT_FALSE(map.blocked());
    EXPECT_FALSE(map.even());
}

TEST(Nodes, BlockedAndEven) {
    EXPECT_TRUE(NodeMap(std::vector<int>{4, 4, 1, 1}).blocked());
    EXPECT_TRUE(NodeMap(std::vector<int>{4, 4, 1, 1}).even());
    EXPECT_TRUE(NodeMap(std::vector<int>{4, 4, 1}).blocked());
    EXPECT_FALSE(NodeMap(std::vector<int>{4, 4, 1}).even());
    EXPECT_FALSE(NodeMap(std::vector<int>{4, 1, 4, 1}).blocked());
    EXPECT_TRUE(NodeMap(std::vector<int>{4, 1, 4, 1}).even());
}

TEST(Nodes, Pretended) {
    EXPECT_TRUE(pretended_nodes("", 4).empty());
    EXPECT_EQ(pretended_nodes("blocks:2", 5), (std::vector<int>{0, 0, 0, 1, 1}));
    EXPECT_EQ(pretended_nodes("cyclic:2", 5), (std::vector<int>{0, 1, 0, 1, 0}));
    EXPECT_EQ(pretended_nodes("blocks:9", 3), (std::vector<int>{0, 1, 2}));
    for (const char* wrong : {"2", "blocks:", "blocks:0", "blocks:2x", "rows:2", "cyclic:-1"})
        EXPECT_THROW(pretended_nodes(wrong, 4), std::invalid_argument) << wrong;
}

}  // namespace
}  // namespace fanlight

// Topologies as text and as domains.
#include "schedule/topology.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace fanlight {
namespace {

std::vector<int> list(std::span<const int> s) { return {s.begin(), s.end()}; }

std::vector<int> of_ranks(const Domains& d) {
    std::vector<int> result;
    for (int r = 0; r < d.ranks(); ++r) result.push_back(d.of(r));
    return result;
}

TEST(Domains, AreNumberedByTheirLowestRank) {
    const Domains domains(std::vector<int>{7, 3, 7, 7, 3});
    EXPECT_EQ(domains.ranks(), 5);
    EXPECT_EQ(domains.count(), 2);
    EXPECT_EQ(list(domains.members(0)), (std::vector<int>{0, 2, 3}));
    EXPECT_EQ(list(domains.members(1)), (std::vector<int>{1, 4}));
    EXPECT_EQ(domains.leader(1), 1);
    EXPECT_EQ(domains.of(3), 0);
    EXPECT_EQ(domains.local(3), 2);
    EXPECT_EQ(domains.local(4), 1);
    EXPECT_TRUE(domains.share(1, 4));
    EXPECT_FALSE(domains.share(1, 3));
    EXPECT_FALSE(domains.blocked());
    EXPECT_FALSE(domains.even());
}

TEST(Domains, BlockedAndEven) {
    EXPECT_TRUE(Domains(std::vector<int>{4, 4, 1, 1}).blocked());
    EXPECT_TRUE(Domains(std::vector<int>{4, 4, 1, 1}).even());
    EXPECT_TRUE(Domains(std::vector<int>{4, 4, 1}).blocked());
    EXPECT_FALSE(Domains(std::vector<int>{4, 4, 1}).even());
    EXPECT_FALSE(Domains(std::vector<int>{4, 1, 4, 1}).blocked());
    EXPECT_TRUE(Domains(std::vector<int>{4, 1, 4, 1}).even());
}

struct Row {
    const char* text;
    int ranks;
    std::vector<std::vector<int>> levels;  // of each rank the domain
    const char* same = nullptr;            // as text() writes it; null: as it came
};

class Text : public testing::TestWithParam<Row> {};

TEST_P(Text, IsReadAndWritten) {
    const Row& row = GetParam();
    const Topology t = Topology::from(row.text, row.ranks);
    ASSERT_EQ(t.levels(), static_cast<int>(row.levels.size()));
    for (int i = 0; i < t.levels(); ++i) EXPECT_EQ(of_ranks(t.level(i)), row.levels[static_cast<std::size_t>(i)]) << "level " << i;
    EXPECT_EQ(t.text(), row.same ? row.same : row.text);
    if (t.levels() > 0) {
        EXPECT_EQ(Topology::from(t.text(), row.ranks), t);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Topology, Text,
    testing::Values(
        Row{"5", 5, {}, ""}, Row{"*", 3, {}, ""}, Row{"1x3", 3, {{0, 0, 0}}}, Row{"2x2", 4, {{0, 0, 1, 1}}},
        Row{"2x2x2", 8, {{0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 1, 1, 2, 2, 3, 3}}},
        Row{"3+1", 4, {{0, 0, 0, 1}}},
        Row{"2x(2+1)", 6, {{0, 0, 0, 1, 1, 1}, {0, 0, 1, 2, 2, 3}}},
        Row{"2x2+3", 7, {{0, 0, 0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2, 2}}, "2x2+1x3"},
        Row{"(2+1)+2x1", 5, {{0, 0, 0, 1, 1}, {0, 0, 1, 2, 3}}},
        Row{"2x*", 5, {{0, 0, 0, 1, 1}}, "3+2"}, Row{"9x*", 3, {{0, 1, 2}}, "3x1"},
        Row{"2x*:cyclic", 5, {{0, 1, 0, 1, 0}}, "3+2:0,2,4,1,3"}, Row{"2x2:cyclic", 4, {{0, 1, 0, 1}}, "2x2:0,2,1,3"},
        Row{"1+3:cyclic", 4, {{0, 1, 1, 1}}, "1+3"},
        Row{"2x2x2:cyclic", 8, {{0, 1, 0, 1, 0, 1, 0, 1}, {0, 1, 0, 1, 2, 3, 2, 3}}, "2x2x2:0,2,4,6,1,3,5,7"},
        Row{"2x2:3,1,0,2", 4, {{0, 1, 0, 1}}, "2x2:0,2,1,3"}),
    [](const auto& info) { return "row" + std::to_string(info.index); });

TEST(Topology, WhatIsWrongIsSaid) {
    const std::pair<const char*, const char*> rows[] = {
        {"", "a number of at least 1 is expected at character 1"},
        {"0x2", "a number of at least 1"},
        {"2x", "at character 3"},
        {"2x-2", "at character 3"},
        {"2x2)", "')' is not expected there"},
        {"2x(2+1", "')' is missing"},
        {"blocks:2", "at character 1"},
        {"2x3", "it has 6 places for 4 ranks"},
        {"3+*", "'*' and '+' do not go together"},
        {"2x2:rows", "behind ':' comes 'cyclic'"},
        {"2x2:", "behind ':' comes 'cyclic'"},
        {"2x2:0,1,2", "each of the 4 ranks must come once"},
        {"2x2:0,1,2,2", "each of the 4 ranks must come once"},
        {"1048577", "more than 1048576 places"},
        {"1024x1024x2", "more than 1048576 places"},
        {"9999999999", "a number of at least 1"},
    };
    for (const auto& [text, message] : rows) {
        try {
            Topology::from(text, 4);
            ADD_FAILURE() << text;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
            EXPECT_NE(std::string(e.what()).find("'" + std::string(text) + "'"), std::string::npos) << e.what();
        }
    }
}

TEST(Topology, LevelsAreNested) {
    const Domains halves(std::vector<int>{0, 0, 1, 1}), across(std::vector<int>{0, 1, 1, 0});
    EXPECT_THROW(Topology({halves, across}), std::invalid_argument);
    EXPECT_THROW(Topology({halves, Domains(std::vector<int>{0, 1})}), std::invalid_argument);
}

TEST(Topology, WhoIsApart) {
    const Topology t = Topology::from("2x2x2", 8);
    EXPECT_EQ(t.apart(0, 1), 2);
    EXPECT_EQ(t.apart(1, 2), 1);
    EXPECT_EQ(t.apart(3, 4), 0);
    EXPECT_EQ(Topology().apart(3, 4), 0);
}

TEST(Topology, LevelsThatSayNothingVanish) {
    EXPECT_EQ(Topology::from("1x2x2x1", 4).simplified().text(), "2x2");
    EXPECT_EQ(Topology::from("2x1x2", 4).simplified().text(), "2x2");
    EXPECT_EQ(Topology::from("1x4", 4).simplified().levels(), 0);
    EXPECT_EQ(Topology::from("4x1", 4).simplified().levels(), 0);
}

TEST(Topology, AmongSomeRanks) {
    const Topology t = Topology::from("2x2x2", 8);
    EXPECT_EQ(t.among(std::vector<int>{0, 1, 4, 6, 7}).text(), "1x2+(1+2)");
    EXPECT_EQ(t.among(std::vector<int>{4, 0}).text(), "2x1x1");
}

}  // namespace
}  // namespace fanlight

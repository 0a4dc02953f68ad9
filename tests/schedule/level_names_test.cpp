// by-levels with the algorithms that a rule names for its levels.
#include "algorithms/level_names.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "algorithms/registry.h"
#include "schedule/all_ranks.h"
#include "schedule/count.h"
#include "schedule/describe.h"
#include "schedule/verify.h"

namespace fanlight {
namespace {

Problem problem_on(Operation operation, const char* topology) {
    Problem p;
    p.operation = operation;
    p.size = Topology::places(topology);
    p.topology = Topology::from(topology, p.size);
    p.element = reduces(operation) ? 8 : 1;
    p.bytes = operation == Operation::barrier ? 0 : 48;
    if (family_of(operation) == Family::blocks_v) {
        p.bytes = 0;
        for (int r = 0; r < p.size; ++r) p.blocks.push_back({static_cast<std::size_t>(r) * 16, 16});
    }
    return p;
}

bool is_known(Operation operation, std::vector<std::string_view> names) {
    try {
        level_names(operation, names);
        return true;
    } catch (const std::invalid_argument&) {
        return false;
    }
}

// Every name that there is, inside and outside.
TEST(LevelNames, EveryOneIsRight) {
    std::set<std::string_view> all;
    for (const Algorithm& a : algorithms()) all.insert(a.name);
    int tried = 0;
    for (const Algorithm& a : algorithms()) {
        if (a.name != "by-levels" || a.operation == Operation::alltoallv) continue;
        for (const char* topology : {"2x3", "4x2:cyclic", "2x2x2", "3+2", "2x(2+1)"})
            for (const bool commutative : {true, false}) {
                Problem p = problem_on(a.operation, topology);
                p.commutative = commutative;
                p.root = has_root(a.operation) ? p.size - 2 : 0;
                std::vector<std::string_view> outside;
                for (const std::string_view name : all)
                    if (is_known(a.operation, {name})) outside.push_back(name);
                std::vector<std::string_view> insides{""};
                for (const std::string_view name : all)
                    if (is_known(a.operation, {name, outside[0]})) insides.push_back(name);
                for (const std::string_view inside : insides)
                    for (const std::string_view name : outside) {
                        p.parameters.levels = level_names(a.operation, inside.empty() ? std::vector{name} : std::vector{inside, name});
                        const auto faults = verify(schedules_of_all(a.schedule, p), p);
                        ASSERT_TRUE(faults.empty()) << to_string(a.operation) << " by-levels(" << inside << ", " << name << ") on " << topology << ": " << faults[0];
                        ++tried;
                    }
            }
    }
    EXPECT_GT(tried, 2000);
}

TEST(LevelNames, AlltoallvHasNone) { EXPECT_FALSE(is_known(Operation::alltoallv, {"pairwise"})); }

TEST(LevelNames, SayWhatRuns) {
    const Algorithm& by_levels = *find_algorithm(Operation::allreduce, "by-levels");
    Problem p = problem_on(Operation::allreduce, "2x2x4");
    const auto messages = [&](std::vector<std::string_view> names) {
        p.parameters.levels = level_names(p.operation, names);
        const Counts c = count(schedules_of_all(by_levels.schedule, p), p.topology);
        std::vector<std::size_t> result{c.all.messages};
        for (const Traffic& level : c.between) result.push_back(level.messages);
        return result;
    };
    // Inside 12 messages for each 4 ranks, then 2 for each 2, then 2 for each 2 in two nodes.
    EXPECT_EQ(messages({"all-read-all", "recursive-doubling"}), (std::vector<std::size_t>{48 + 16 + 16, 16, 16 + 16}));
    EXPECT_EQ(messages({"all-read-all", "all-read-all", "recursive-doubling"}), messages({"all-read-all", "recursive-doubling"}));
    // To one of 4, to one of 2, between these, and back.
    EXPECT_EQ(messages({"root-reads-all", "recursive-doubling"}), (std::vector<std::size_t>{12 + 2 + 2 + 2 + 12, 2, 2 + 2 + 2}));
    EXPECT_EQ(messages({"root-reads-all", "recursive-doubling"}), messages({}));
    EXPECT_NE(messages({"reduce-scatter-gather", "recursive-doubling"}), messages({}));
}

TEST(LevelNames, WhatIsWrongIsSaid) {
    const auto error = [](Operation o, std::vector<std::string_view> names) -> std::string {
        try {
            level_names(o, names);
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_NE(error(Operation::bcast, {"no-such", "binomial"}).find("unknown algorithm 'no-such' inside the domains of bcast; there are binomial, "), std::string::npos);
    EXPECT_NE(error(Operation::allreduce, {"root-reads-all"}).find("between the outermost domains of allreduce; there are binomial, "), std::string::npos);
    EXPECT_NE(error(Operation::allreduce, {"all-read-all", "root-reads-all", "ring"}).find("either everybody takes part"), std::string::npos);
    EXPECT_NE(error(Operation::bcast, {"by-levels"}).find("unknown"), std::string::npos);
    EXPECT_NE(error(Operation::bcast, {"tree", "tree", "tree", "tree", "tree"}).find("4 algorithms at most"), std::string::npos);
}

TEST(LevelNames, WhatRunsBetweenTheDomains) {
    const auto between = [](Operation o, std::string_view name, auto made_of) {
        const OnLevels all = made_of(*find_algorithm(o, name));
        return text_of(*all.algorithm, all.names);
    };
    EXPECT_EQ(between(Operation::allreduce, "ring", by_levels), "by-levels(ring)");
    EXPECT_EQ(between(Operation::allreduce, "ring", in_lanes), "multi-lane(ring)");
    EXPECT_EQ(between(Operation::allgather, "bruck", by_levels), "by-levels(bruck)");
    EXPECT_EQ(between(Operation::allgather, "neighbor-exchange", by_levels), "by-levels") << "allgatherv has none of this name";
    EXPECT_EQ(between(Operation::reduce_scatter_block, "pairwise", in_lanes), "multi-lane(pairwise)");
    EXPECT_EQ(between(Operation::alltoall, "pairwise", in_lanes), "by-levels(pairwise)");
}

// Each name that multi-lane takes for its last stage is what runs there.
TEST(LevelNames, EachIsAnotherSchedule) {
    for (const auto& [operation, names] : {std::pair{Operation::allreduce, std::array{"ring", "all-read-all", "tree"}},
                                           {Operation::bcast, std::array{"pruned-ring", "one-to-all", "circulant"}},
                                           {Operation::reduce, std::array{"root-reads-all", "circulant", "reduce-scatter-gather"}},
                                           {Operation::allgather, std::array{"ring", "circulant", "all-read-all"}}}) {
        Problem p = problem_on(operation, "4x2");
        std::set<std::string> found;
        const auto add = [&] {
            std::string steps;
            for (p.rank = 0; p.rank < p.size; ++p.rank)
                for (const Step& step : find_algorithm(operation, "multi-lane")->schedule(p).steps) steps += describe(step) + "\n";
            found.insert(steps);
        };
        add();
        for (const char* name : names) {
            p.parameters.levels = in_lanes(*find_algorithm(operation, name)).names;
            EXPECT_NE(p.parameters.levels, 0u) << name;
            add();
        }
        EXPECT_EQ(found.size(), names.size() + 1) << to_string(operation);
    }
}

TEST(LevelNames, WhichOperationsHaveLevels) {
    Problem p;
    p.size = 4;
    const auto goes = [&](auto how, Operation o, const char* nodes) {
        p.operation = o;
        return how(p, Topology::from(nodes, 4).level(0));
    };
    EXPECT_TRUE(goes(goes_in_lanes, Operation::bcast, "2x2"));
    EXPECT_TRUE(goes(goes_in_lanes, Operation::alltoall, "2x2:cyclic"));
    EXPECT_FALSE(goes(goes_in_lanes, Operation::bcast, "3+1"));
    EXPECT_FALSE(goes(goes_in_lanes, Operation::bcast, "4x1"));
    EXPECT_FALSE(goes(goes_in_lanes, Operation::bcast, "1x4"));
    for (const Operation o : {Operation::gather, Operation::scatter, Operation::scan, Operation::barrier}) EXPECT_FALSE(goes(goes_in_lanes, o, "2x2"));
    EXPECT_TRUE(goes(goes_by_levels, Operation::scan, "2x2"));
    EXPECT_FALSE(goes(goes_by_levels, Operation::scan, "2x2:cyclic"));
    EXPECT_TRUE(goes(goes_by_levels, Operation::reduce, "2x2:cyclic"));
    EXPECT_FALSE(goes(goes_by_levels, Operation::gatherv, "2x2"));
    EXPECT_FALSE(goes(goes_by_levels, Operation::bcast, "1x4"));
    p.commutative = false;
    EXPECT_FALSE(goes(goes_in_lanes, Operation::allreduce, "2x2"));
    EXPECT_FALSE(goes(goes_by_levels, Operation::allreduce, "2x2:cyclic"));
    EXPECT_TRUE(goes(goes_by_levels, Operation::allreduce, "2x2"));
}

}  // namespace
}  // namespace fanlight

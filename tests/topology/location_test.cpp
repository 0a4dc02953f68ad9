#include "topology/location.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "machine_files.h"

namespace fanlight {
namespace {

class Locations : public FolderOfAMachine {
protected:
    // Where a process on these CPUs is: "numa 0+4 L3 0+2", first CPU and number of CPUs.
    std::string location(const Cpus& own) {
        static constexpr const char* names[] = {"numa", "package", "L3", "L2", "L1"};
        std::string text;
        const Location p = location_of(own, root_);
        for (std::size_t k = 0; k < Location::kinds; ++k)
            if (p.parts[k].first >= 0)
                text += std::string(text.empty() ? "" : " ") + names[k] + " " + std::to_string(p.parts[k].first) + "+" +
                        std::to_string(p.parts[k].cpus);
        return text;
    }
    // The topology of processes on these CPUs of one node, as text.
    std::string topology(const std::vector<Cpus>& ranks) {
        std::vector<Location> locations;
        for (const Cpus& own : ranks) locations.push_back(location_of(own, root_));
        return topology_of(locations).simplified().text();
    }
};

TEST_F(Locations, OfAProcess) {
    two_packages();
    EXPECT_EQ(location({5}), "numa 4+4 package 0+8 L3 4+2 L2 5+1 L1 5+1");
    EXPECT_EQ(location({4, 5}), "numa 4+4 package 0+8 L3 4+2");
    EXPECT_EQ(location({8, 11}), "numa 8+4 package 8+8");
    EXPECT_EQ(location({0, 15}), "");
    EXPECT_EQ(location({}), "");
    EXPECT_EQ(location({99}), "");
}

TEST_F(Locations, OlderKernels) {
    write("cpu/cpu3/topology/core_siblings_list", "2-3");
    EXPECT_EQ(location({3}), "package 2+2");
}

TEST_F(Locations, ARankOnEachCore) {
    two_packages();
    std::vector<Cpus> ranks;
    for (int c = 0; c < 16; ++c) ranks.push_back({c});
    EXPECT_EQ(topology(ranks), "2x2x2x2");
    // The launcher deals them to the packages in turn.
    ranks.clear();
    for (int c = 0; c < 16; ++c) ranks.push_back({c % 2 * 8 + c / 2});
    EXPECT_EQ(topology(ranks), "2x2x2x2:0,2,4,6,8,10,12,14,1,3,5,7,9,11,13,15");
}

TEST_F(Locations, RanksOfSeveralCores) {
    two_packages();
    // Each in a NUMA domain; then one that may run in the whole package, so that NUMA domains say nothing.
    EXPECT_EQ(topology({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13}}), "2x2");
    EXPECT_EQ(topology({{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 7}, {12, 13}}), "3+1");
    EXPECT_EQ(topology({{0, 15}, {1}, {2}}), "");
}

TEST_F(Locations, OfSeveralNodes) {
    two_packages();
    std::vector<Location> locations;
    for (const int c : {0, 2, 8, 0, 8, 10}) locations.push_back(location_of({c}, root_));
    for (std::size_t r = 3; r < 6; ++r) locations[r].node = 4;
    EXPECT_EQ(topology_of(locations).simplified().text(), "(2+1)+(1+2)");
    // The files of one of the nodes say nothing: there all are in one domain of each level.
    for (std::size_t r = 3; r < 6; ++r) locations[r].parts = {};
    EXPECT_EQ(topology_of(locations).simplified().text(), "(2x1+1x1)+1x1x3");
}

}  // namespace
}  // namespace fanlight

#include "model/machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace fanlight {
namespace {

constexpr std::string_view text = "# A small one.\n"
                                  "ranks step=20ns reader=10ns gather=4\n"
                                  "node 2 latency=1.5us overhead=300ns link=12G eager=8K\n"
                                  "socket 2 hop=200ns\n"
                                  "core 4 hop=50ns bandwidth=10G size=1M  # each\n";

TEST(machine, text) {
    const Machine m = Machine::from("small", text);
    EXPECT_EQ(m.about, "A small one.");
    ASSERT_EQ(m.levels.size(), 3u);
    EXPECT_EQ(m.cores_of_node(), 8);
    EXPECT_DOUBLE_EQ(m.step, 20e-9);
    EXPECT_DOUBLE_EQ(m.levels[0].latency, 1.5e-6);
    EXPECT_DOUBLE_EQ(m.levels[0].link, 12e9);
    EXPECT_DOUBLE_EQ(m.levels[0].eager, 8192);
    EXPECT_DOUBLE_EQ(m.levels[2].size, 1 << 20);
    EXPECT_DOUBLE_EQ(m.levels[1].hop, 200e-9);
}

TEST(machine, says_what_is_wrong) {
    const auto why = [](std::string_view t) {
        try {
            Machine::from("bad", t);
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string("nothing");
    };
    EXPECT_EQ(why("node *\ncore 4 hop=fast bandwidth=1G"), "machine bad, line 2: 'hop=fast' has no number");
    EXPECT_EQ(why("node *\ncore 4 hops=1ns"), "machine bad, line 2: unknown word 'hops=1ns'");
    EXPECT_EQ(why("node many\n"), "machine bad, line 1: 'many' is no number of domains");
    EXPECT_NE(why("node *\n").find("at least"), std::string::npos);
    EXPECT_NE(why("node *\nsocket *\ncore 4 bandwidth=1G").find("any number"), std::string::npos);
    EXPECT_NE(why("node *\ncore 4 hop=1ns").find("bandwidth"), std::string::npos);
}

TEST(machine, all_that_come_with_it_can_be_read) {
    EXPECT_GE(machines().size(), 8u);
    for (const auto& [name, contents] : machines()) EXPECT_NO_THROW(Machine::from(name, contents)) << name;
    EXPECT_EQ(machine_named("rome2x64").cores_of_node(), 128);
    EXPECT_EQ(machine_named("grace4x72").cores_of_node(), 288);
    EXPECT_THROW(machine_named("rome"), std::invalid_argument);
}

TEST(machine, ranks_fill_the_cores_in_their_order) {
    const Machine m = Machine::from("small", text);
    const Placement p(m, 6);
    EXPECT_EQ(p.apart(0, 3), 2u);
    EXPECT_EQ(p.apart(3, 4), 1u);
    EXPECT_EQ(p.apart(2, 2), 3u);
    EXPECT_EQ(p.topology().text(), "4+2");
    const Placement two(m, 12);
    EXPECT_EQ(two.apart(5, 6), 0u);
    EXPECT_EQ(two.topology(), Topology::from("2x(4+2)", 12));
    EXPECT_THROW(Placement(m, 17), std::invalid_argument);
    EXPECT_THROW(Placement(m, 12, 1), std::invalid_argument);
    EXPECT_NO_THROW(Placement(machine_named("generic"), 4096));
    // On nodes that take turns.
    const Placement cyclic(m, Topology::from("2x*:cyclic", 4).level(0));
    EXPECT_EQ(cyclic.apart(0, 2), 2u);
    EXPECT_EQ(cyclic.apart(0, 1), 0u);
}

TEST(machine, radices_of_its_levels) {
    const Machine m = machine_named("rome2x64");
    std::vector<std::string> radices;
    for (const Radices& r : topologies(m, Placement(m, 128))) radices.push_back(r.radices);
    for (const char* wanted : {"64·2", "16·8", "4·32", "16·4·2", "4·4·4·2", "2·2·2·2·2·2·2"})
        EXPECT_NE(std::ranges::find(radices, wanted), radices.end()) << wanted;
}

}  // namespace
}  // namespace fanlight

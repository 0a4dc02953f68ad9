#include "topology/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "machine_files.h"
#include "topology/cores.h"

namespace fanlight {
namespace {

namespace fs = std::filesystem;
using Kind = Enclosing::Kind;

class MachineFiles : public FolderOfAMachine {
protected:
    // "package 1 of 8 cores, ..." from the outermost.
    std::string parts(const Cpus& own) {
        const Processors machine = read_machine(root_);
        std::string text;
        for (const Enclosing& part : enclosing(machine, read_caches(machine, root_), own)) {
            text += text.empty() ? "" : ", ";
            text += part.kind == Kind::numa ? "numa" : part.kind == Kind::package ? "package" : "L" + std::to_string(part.level);
            text += " " + std::to_string(part.number) + " of " + std::to_string(part.cores);
        }
        return text;
    }
};

TEST(Machine, Lists) {
    EXPECT_EQ(parse_cpu_list("0-2,8,10-11"), (Cpus{0, 1, 2, 8, 10, 11}));
    EXPECT_EQ(parse_cpu_list("5,1"), (Cpus{1, 5}));
    EXPECT_EQ(parse_cpu_list(""), Cpus{});
    EXPECT_EQ(parse_cpu_list("3-,x,7,-2,9-8"), Cpus{7});
}

TEST_F(MachineFiles, PackagesOfSeveralNumaDomains) {
    two_packages();
    const Processors machine = read_machine(root_);
    EXPECT_EQ(machine.packages.size(), 2u);
    EXPECT_EQ(machine.numas.size(), 4u);
    EXPECT_EQ(machine.cores.size(), 16u);
    EXPECT_EQ(read_caches(machine, root_).size(), 16u + 16u + 8u);
    EXPECT_EQ(memory_bytes(3, root_), 128u << 20);
    EXPECT_EQ(memory_bytes(2, root_), 0u) << "no file";
    EXPECT_EQ(parts({13}), "package 1 of 8, numa 3 of 4, L3 6 of 2, L2 13 of 1, L1 13 of 1");
    EXPECT_EQ(parts({12, 13}), "package 1 of 8, numa 3 of 4, L3 6 of 2");
    EXPECT_EQ(parts({8, 12}), "package 1 of 8, numa -1 of 16");
    EXPECT_EQ(parts({0, 15}), "package -1 of 16, numa -1 of 16");
    EXPECT_EQ(parts({}), "package -1 of 16, numa -1 of 16");
    EXPECT_EQ(parts({99}), "package -1 of 16, numa -1 of 16");
}

TEST_F(MachineFiles, Caches) {
    two_packages();
    const std::vector<Cache> caches = read_caches(5, root_);
    ASSERT_EQ(caches.size(), 3u) << "none of instructions";
    EXPECT_EQ(caches[0].bytes, 48u << 10);
    EXPECT_EQ(caches[1].bytes, 1u << 20);
    EXPECT_EQ(caches[2].bytes, 16u << 20);
    EXPECT_EQ(caches[2].cpus, (Cpus{4, 5}));
    EXPECT_EQ(caches[2].line, 64u);
}

TEST_F(MachineFiles, ANumaDomainOfSeveralPackages) {
    // A virtual machine, two threads in each core; older names.
    for (int c = 0; c < 8; ++c) {
        cpu(c, c / 4, "");
        write("cpu/cpu" + std::to_string(c) + "/topology/thread_siblings_list",
              std::to_string(c / 2 * 2) + "," + std::to_string(c / 2 * 2 + 1));
        cache(c, 0, 3, "Unified", "8M", c < 4 ? "0-3" : "4-7");
    }
    write("cpu/online", "0-7");
    write("node/node0/cpulist", "0-7");
    EXPECT_EQ(parts({4, 5}), "numa 0 of 4, package 1 of 2, L3 1 of 2");
    EXPECT_EQ(parts({3, 4}), "numa 0 of 4, package -1 of 4");
    const Processors machine = read_machine(root_);
    EXPECT_EQ(group_of(machine.cores, {4, 5})->number, 2);
    EXPECT_EQ(group_of(machine.cores, {5, 6}), nullptr);
}

TEST_F(MachineFiles, OfflineCpus) {
    two_packages();
    // A CPU that is offline keeps its folder without these files.
    write("cpu/online", "0-3,6-15");
    for (const int c : {4, 5}) {
        fs::remove_all(root_ / ("cpu/cpu" + std::to_string(c)) / "topology");
        fs::remove_all(root_ / ("cpu/cpu" + std::to_string(c)) / "cache");
    }
    const Processors machine = read_machine(root_);
    EXPECT_EQ(machine.cores.size(), 14u);
    EXPECT_EQ(machine.numas[1].cpus, (Cpus{6, 7}));
    EXPECT_EQ(parts({6, 7}), "package 0 of 6, numa 1 of 2, L3 2 of 2");
}

TEST_F(MachineFiles, WhatIsMissing) {
    EXPECT_EQ(parts({0}), "numa -1 of 0, package -1 of 0");
    EXPECT_TRUE(read_caches(0, root_).empty());
    EXPECT_EQ(read_clock(0, root_).most, -1);
    // Folders alone; some kernels give -1 where the firmware says nothing.
    cpu(0, -1, "garbage");
    cpu(1, -1, "0");
    write("cpu/cpufreq/x", "");
    write("cpu/cpu1/cache/index0/level", "1");
    write("cpu/cpu1/cpufreq/cpuinfo_max_freq", "2600000");
    const Processors machine = read_machine(root_);
    EXPECT_EQ(machine.cpus, (Cpus{0, 1}));
    EXPECT_EQ(machine.cores.size(), 2u);
    EXPECT_TRUE(machine.packages.empty());
    EXPECT_EQ(parts({1}), "numa -1 of 2, package -1 of 2, L1 0 of 1");
    EXPECT_EQ(read_caches(1, root_)[0].bytes, 0u);
    EXPECT_EQ(read_clock(1, root_).most, 2600);
    EXPECT_EQ(read_clock(1, root_).least, -1);
}

TEST(Machine, ThisOne) {
    const Processors machine = read_machine();
    const Cpus own = own_cpus();
    ASSERT_EQ(own.size(), static_cast<std::size_t>(affinity_cores()));
    if (machine.cpus.empty()) GTEST_SKIP() << "no such files here";
    EXPECT_TRUE(std::ranges::includes(machine.cpus, own));
    std::size_t in_cores = 0;
    for (const CpuGroup& core : machine.cores) in_cores += core.cpus.size();
    EXPECT_EQ(in_cores, machine.cpus.size());
}

}  // namespace
}  // namespace fanlight

#include "topology/cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "folder.h"

namespace fanlight {
namespace {

namespace fs = std::filesystem;

// A directory that stands for /proc/self/cgroup and /sys/fs/cgroup.
class Tree : public OnFolder {
protected:
    CoresReport report() {
        CoresReport r;
        r.affinity = 64;
        read_quota(r, {root_ / "own", root_ / "fs"});
        return r;
    }
};

TEST_F(Tree, VersionTwo) {
    write("own", "0::/user.slice/job\n");
    write("fs/user.slice/job/cpu.max", "150000 100000\n");
    const CoresReport r = report();
    EXPECT_DOUBLE_EQ(r.quota, 1.5);
    EXPECT_EQ(r.quota_file, (root_ / "fs/user.slice/job/cpu.max").string());
    EXPECT_EQ(r.usable(), 2) << "rounded up";
}

TEST_F(Tree, TheTightestOnTheWayUp) {
    write("own", "0::/a/b/c\n");
    write("fs/a/b/c/cpu.max", "max 100000\n");
    write("fs/a/b/cpu.max", "200000 50000\n");
    write("fs/a/cpu.max", "300000 100000\n");
    const CoresReport r = report();
    EXPECT_DOUBLE_EQ(r.quota, 3);
    EXPECT_EQ(r.quota_file, (root_ / "fs/a/cpu.max").string());
}

TEST_F(Tree, APathThatOnlyTheHostSees) {
    // A container whose own group is mounted at the root of the tree.
    write("own", "0::/docker/0123/\n");
    write("fs/cpu.max", "100000 100000\n");
    EXPECT_EQ(report().usable(), 1);
    // A cgroup namespace that was entered from outside.
    write("own", "0::/../../other\n");
    EXPECT_EQ(report().usable(), 1);
}

TEST_F(Tree, VersionOne) {
    write("own", "9:name=systemd:/x\n4:cpu,cpuacct:/docker/7\n3:cpuset:/docker/7\n");
    write("fs/cpu,cpuacct/docker/7/cpu.cfs_quota_us", "50000\n");
    write("fs/cpu,cpuacct/docker/7/cpu.cfs_period_us", "100000\n");
    write("fs/cpuset/docker/7/cpu.cfs_quota_us", "10\n");
    const CoresReport r = report();
    EXPECT_DOUBLE_EQ(r.quota, 0.5);
    EXPECT_EQ(r.usable(), 1) << "never less than one";
}

TEST_F(Tree, BothVersions) {
    write("own", "1:cpu:/j\n0::/k\n");
    write("fs/cpu/j/cpu.cfs_quota_us", "400000\n");
    write("fs/cpu/j/cpu.cfs_period_us", "100000\n");
    write("fs/unified/k/cpu.max", "700000 100000\n");
    EXPECT_DOUBLE_EQ(report().quota, 4);
}

TEST_F(Tree, NoLimit) {
    EXPECT_EQ(report().usable(), 64);  // no files at all
    write("own", "0::/j\n2:cpu:/j\n");
    write("fs/j/cpu.max", "max 100000\n");
    write("fs/cpu/j/cpu.cfs_quota_us", "-1\n");
    write("fs/cpu/j/cpu.cfs_period_us", "100000\n");
    const CoresReport r = report();
    EXPECT_EQ(r.quota, 0);
    EXPECT_EQ(r.quota_file, "");
    EXPECT_EQ(r.usable(), 64);
}

TEST_F(Tree, WhatCannotBeReadIsNoLimit) {
    for (const char* text : {"", "max", "100000", "0 100000", "100000 0", "-5 100", "a b", "1 2 3"}) {
        write("own", "0::/j\nrubbish\n::\n");
        write("fs/j/cpu.max", text);
        EXPECT_EQ(report().quota, 0) << text;
    }
}

TEST_F(Tree, Cpuset) {
    const auto cores = [&] { return cores_of_cpuset({root_ / "own", root_ / "fs"}, root_ / "system"); };
    write("system/cpu/online", "0-15\n");
    EXPECT_EQ(cores(), 16) << "no cgroup";
    write("own", "0::/job/step\n");
    write("fs/cpuset.cpus.effective", "0-11\n");
    EXPECT_EQ(cores(), 12);
    write("fs/job/cpuset.cpus.effective", "0-2,8\n");
    EXPECT_EQ(cores(), 4) << "of the nearest one";
    write("own", "7:cpuset:/docker/7\n");
    write("fs/cpuset/docker/7/cpuset.effective_cpus", "3,5\n");
    EXPECT_EQ(cores(), 2) << "version 1";
}

TEST(Cores, TheSmallerOfBoth) {
    CoresReport r;
    r.affinity = 2;
    r.quota = 8;
    EXPECT_EQ(r.usable(), 2);
    r.quota = 1;
    EXPECT_EQ(r.usable(), 1);
    r.quota = 1e300;
    EXPECT_EQ(r.usable(), 2);
    r.forced = 5;
    EXPECT_EQ(r.usable(), 5);
    EXPECT_EQ(CoresReport{}.usable(), 1);
}

TEST(Cores, AffinityIsTheUnionOverTheRanks) {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    EXPECT_EQ(affinity_cores(), CPU_COUNT(&all));
    if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs two cores";
    // Two children, each bound to a core of its own.
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    std::vector<pid_t> ranks;
    for (int core = 0; core < CPU_SETSIZE && ranks.size() < 2; ++core) {
        if (!CPU_ISSET(core, &all)) continue;
        const pid_t child = fork();
        if (child == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            const char bound = sched_setaffinity(0, sizeof one, &one) == 0 ? 1 : 0;
            if (write(pipes[1], &bound, 1) != 1) _exit(1);
            pause();
        }
        ranks.push_back(child);
    }
    for (int i = 0; i < 2; ++i) {
        char bound = 0;
        ASSERT_EQ(read(pipes[0], &bound, 1), 1);
        EXPECT_EQ(bound, 1);
    }
    EXPECT_EQ(affinity_cores(std::span(ranks).first(1)), 1);
    EXPECT_EQ(affinity_cores(ranks), 2);
    for (const pid_t child : ranks) {
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    EXPECT_EQ(affinity_cores(ranks), 0) << "nobody there any more";
    close(pipes[0]);
    close(pipes[1]);
}

TEST(Cores, TheSettingOverrides) {
    // In a process of its own, since settings are read once.
    setenv("FANLIGHT_CORES", "37", 1);
    EXPECT_EXIT(_exit(usable_cores()), testing::ExitedWithCode(37), "");
    unsetenv("FANLIGHT_CORES");
}

TEST(Cores, ThisMachine) {
    EXPECT_GE(usable_cores(), 1);
    EXPECT_NE(pid_namespace(), 0u);
}

}  // namespace
}  // namespace fanlight

#include "topology/free_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "folder.h"

namespace fanlight {
namespace {

class FreeMemory : public OnFolder {
protected:
    std::size_t free() { return free_memory({{root_ / "own", root_ / "fs"}, root_ / "meminfo"}); }
    void machine(std::size_t total, std::size_t available) {
        write("meminfo", "MemTotal:       " + std::to_string(total) + " kB\nMemFree:  5 kB\nMemAvailable:   " + std::to_string(available) +
                             " kB\nHugePages_Total:       0\n");
    }
};

TEST_F(FreeMemory, WhatTheMachineSaysButForASixteenth) {
    machine(1600, 1000);
    EXPECT_EQ(free(), 900u * 1024);
    machine(1600, 80);
    EXPECT_EQ(free(), 0u);
}

TEST_F(FreeMemory, TheTightestGroupOnTheWayUp) {
    machine(16 << 20, 16 << 20);
    write("own", "0::/job/step\n");
    write("fs/job/step/memory.max", "max\n");
    write("fs/job/step/memory.current", "100\n");
    write("fs/job/memory.max", "1600000\n");
    write("fs/job/memory.current", "1000000\n");
    EXPECT_EQ(free(), 500'000u);
    // Files that are kept in memory can go.
    write("fs/job/memory.stat", "anon 900000\ninactive_file 150000\nactive_file 50000\nshmem 90000\n");
    EXPECT_EQ(free(), 700'000u);
    write("fs/job/memory.current", "1700000\n");
    EXPECT_EQ(free(), 0u);
}

TEST_F(FreeMemory, VersionOne) {
    machine(16 << 20, 16 << 20);
    write("own", "7:memory:/docker/1\n3:cpu:/docker/1\n");
    write("fs/memory/docker/1/memory.limit_in_bytes", "3200\n");
    write("fs/memory/docker/1/memory.usage_in_bytes", "2000\n");
    write("fs/memory/docker/1/memory.stat", "inactive_file 7\ntotal_inactive_file 500\ntotal_active_file 100\n");
    EXPECT_EQ(free(), 1600u);
    write("fs/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("fs/memory/memory.usage_in_bytes", "2000\n");
    EXPECT_EQ(free(), 1600u) << "no limit";
}

TEST_F(FreeMemory, WhereNothingSays) {
    EXPECT_EQ(free(), SIZE_MAX);
    write("meminfo", "MemTotal: 100 kB\nrubbish\n MemAvailable:\n");
    write("own", "0::/j\n");
    write("fs/j/memory.max", "1000\n");
    EXPECT_EQ(free(), SIZE_MAX);
}

TEST(FreeMemoryHere, IsNotNothing) { EXPECT_GT(free_memory(), std::size_t{1} << 20); }

}  // namespace
}  // namespace fanlight

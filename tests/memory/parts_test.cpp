// Whose part of a group's segment is where, who reserves it, and how large it all is.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "memory/segment.h"
#include "topology/cores.h"
#include "topology/machine.h"
#include "transport/shared.h"

namespace fanlight {
namespace {

using Capacity = SharedSlots::Capacity;
constexpr std::size_t page = 4096;

struct Range {
    std::size_t begin, end;
    int owner;
};

// Everything that a group has, in the lane and the area of each operation.
std::vector<Range> all_of(const SharedSlots& slots, int size) {
    std::vector<Range> all;
    const auto put = [&](const void* at, std::size_t bytes, int owner) {
        const auto begin = static_cast<std::size_t>(static_cast<const std::byte*>(at) - slots.base());
        all.push_back({begin, begin + bytes, owner});
    };
    for (int r = 0; r < size; ++r) {
        put(&slots.member(r), sizeof(SharedSlots::Member), r);
        for (int of = 0; of < size; of += 64) put(&slots.opened(r, of), sizeof(std::uint64_t), r);
        for (std::uint64_t i = 0; i < slots.slots(); ++i) put(&slots.called(r, i), sizeof(SharedSlots::Called), r);
        for (std::uint64_t i = 0; i < slots.areas() + slots.later_areas(); ++i) put(slots.area(r, i), slots.staging_bytes(), r);
        for (std::uint64_t i = 0; i < slots.slots(); ++i) {
            const std::byte* const slot = slots.slot(i);
            for (int k = 0; k < SharedSlots::offers_per_operation; ++k)
                put(slot + slots.offer_cell(r, k), sizeof(Cell) + slots.payload_bytes(), r);
            for (int of = 0; of < size; of += 64) put(slot + slots.register_word(r, of), sizeof(std::uint64_t), r);
            for (int from = 0; from < size; ++from) {
                for (int j = 0; j < slots.depth(); ++j)
                    put(slot + slots.put_cell(from, r, static_cast<std::size_t>(j)), sizeof(Cell) + slots.payload_bytes(), r);
                // What the writer of puts polls is its own.
                put(slot + slots.channel(from, r), sizeof(std::uint64_t) + slots.posts() * sizeof(Channel::Post), r);
            }
        }
    }
    return all;
}

TEST(Parts, NothingLiesInTwoPlacesOrInAnothersPart) {
    for (const Capacity capacity : {Capacity::many, Capacity::one})
        for (const int size : {1, 2, 3, 16, 17, 33, 65, 129, 260}) {
            std::byte* const base = reinterpret_cast<std::byte*>(page);  // of nothing
            SharedSlots slots(base, size, capacity);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(slots.more_slots(size - 1).data()) % page, 0u);
            slots.take_more_slots();
            ASSERT_EQ(slots.part_bytes() % page, 0u);
            std::vector<Range> all = all_of(slots, size);
            for (const Range& r : all) {
                const std::size_t part = static_cast<std::size_t>(r.owner) * slots.part_bytes();
                ASSERT_TRUE(r.begin >= part && r.end <= part + slots.part_bytes()) << size << " ranks, rank " << r.owner;
            }
            std::ranges::sort(all, {}, &Range::begin);
            for (std::size_t i = 1; i < all.size(); ++i) ASSERT_LE(all[i - 1].end, all[i].begin) << size << " ranks";
        }
}

// What one rank writes no other one writes in the same line, but for registers, which all share.
TEST(Parts, ALineHasOneWriter) {
    for (const int size : {2, 17, 33, 65, 129, 260}) {
        std::byte* const base = reinterpret_cast<std::byte*>(page);
        const SharedSlots slots(base, size);
        const std::size_t line = 64;
        for (int from = 1; from < size; ++from) {
            EXPECT_GE(slots.put_cell(from, 0, 0) / line, slots.channel(from - 1, 0) / line + 1);
            EXPECT_EQ(slots.put_cell(from, 0, 0) % line, 0u);
        }
        EXPECT_GT(slots.offer_cell(0, 0) / line, slots.channel(size - 1, 0) / line);
    }
}

// As far apart in time as there is room for, and none in part over another one.
TEST(Parts, WhatIsLongGoesRound) {
    for (const int size : {2, 3, 8}) {
        std::byte* const base = reinterpret_cast<std::byte*>(page);
        const SharedSlots slots(base, size);
        for (const bool later : {false, true})
            for (const std::size_t bytes : {8192ul, 40000ul, 65536ul, 3 * slots.staging_bytes() / 2, 3 * slots.staging_bytes()}) {
                const std::uint64_t all = later ? slots.later_areas() : slots.areas(), before = later ? slots.areas() : 0;
                if (all == 0) continue;
                const std::uint64_t count = (bytes - 1) / slots.staging_bytes() + 1, turns = all / count * (count * slots.staging_bytes() / bytes);
                std::vector<Range> places;
                for (std::uint64_t i = 0; i < turns; ++i) {
                    const SharedSlots::Areas areas = slots.staging(i, 1, bytes, later);
                    EXPECT_EQ(areas.count, count);
                    EXPECT_GE(areas.first, before);
                    EXPECT_LE(areas.first + count, before + all);
                    EXPECT_GE(areas.at, slots.area(1, areas.first)) << "before its areas";
                    EXPECT_LE(areas.at + bytes, slots.area(1, areas.first) + count * slots.staging_bytes()) << "behind them";
                    const auto at = static_cast<std::size_t>(areas.at - base);
                    places.push_back({at, at + bytes, 1});
                    EXPECT_EQ(slots.staging(i + turns, 1, bytes, later).at, areas.at);
                }
                std::ranges::sort(places, {}, &Range::begin);
                for (std::size_t i = 1; i < places.size(); ++i) EXPECT_LE(places[i - 1].end, places[i].begin) << bytes;
            }
        EXPECT_EQ(slots.staging(4 * slots.areas(), 0, SharedSlots::goes_round_from - 1, false).at, slots.area(0, 0)) << "short";
        EXPECT_EQ(slots.staging(4 * slots.areas(), 0, 8192, false, true).at, slots.area(0, 0)) << "in few places";
        EXPECT_EQ(slots.later_areas() > 0, size < 8);
    }
}

TEST(Parts, WhatACommunicatorTakes) {
    const auto mebibytes = [](std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf("%6s %20s %30s\n", "ranks", "communicator MiB", "persistent operation MiB");
    const auto whole = [&](const SharedSlots& slots, int size) { return mebibytes(slots.reserved_bytes()) * size; };
    for (const int size : {2, 8, 32, 128, 512}) {
        // In powers of two, as most that is short; tests/execute/placed_test.cpp has what the rules choose.
        const SharedSlots persistent(nullptr, size, Capacity::one, {.peers = std::bit_width(static_cast<unsigned>(size)) - 1, .offers = 1});
        const std::size_t staging = static_cast<std::size_t>(size) * persistent.areas() * persistent.staging_bytes();
        const SharedSlots slots(nullptr, size);
        std::printf("%6d %9.1f, later %4.1f %12.1f, %4.1f of it staging\n", size, whole(slots, size), mebibytes(slots.bytes()),
                    mebibytes(persistent.bytes()), mebibytes(staging));
        EXPECT_LE(mebibytes(persistent.bytes() - staging), 1) << size;
    }
    // With one rank more, each has less.
    for (const int size : {16, 32, 64, 128, 256})
        EXPECT_GT(SharedSlots(nullptr, size).staging_bytes(), SharedSlots(nullptr, size + 1).staging_bytes()) << size;
    EXPECT_LE(mebibytes(SharedSlots::bytes(32)), 16);
    EXPECT_LE(mebibytes(SharedSlots::bytes(128)), 12);
    EXPECT_LE(mebibytes(SharedSlots::bytes(512)), 48);
}

// Runs it in a child, one after the other.
bool well(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
}

// How much memory it has taken.
std::size_t taken(const Segment& s) {
    const std::string& name = s.name();
    // A segment without a name says which descriptor of this process it is.
    const bool has_name = name.starts_with('/');
    const std::size_t from = name.find(':', 6) + 1;
    struct stat facts{};
    EXPECT_EQ(stat((has_name ? "/dev/shm" + name : "/proc/self/fd/" + name.substr(from, name.rfind(':') - from)).c_str(), &facts), 0);
    return static_cast<std::size_t>(facts.st_blocks) * 512;
}

TEST(Parts, EachRankReservesItsOwnWhereItRuns) {
    constexpr int size = 3;
    const SharedSlots slots(nullptr, size);
    const std::size_t part = slots.part_bytes();
    const Cpus cpus = own_cpus();
    for (const auto place : {Segment::Place::anywhere, Segment::Place::dev_shm}) {
        std::error_code error;
        Segment s = Segment::create(SharedSlots::bytes(size), error, Segment::Pages::parts, place);
        ASSERT_TRUE(s) << error.message();
        std::size_t expected = page;  // the segment's own first one
        EXPECT_EQ(taken(s), expected);
        for (const std::size_t r : {2, 0, 1}) {
            const int cpu = cpus[r * (cpus.size() - 1) / (size - 1)];
            ASSERT_TRUE(well([&] {
                cpu_set_t mask;
                CPU_ZERO(&mask);
                CPU_SET(static_cast<std::size_t>(cpu), &mask);
                std::error_code e;
                Segment own = Segment::open(s.name(), e);
                return own && sched_setaffinity(0, sizeof mask, &mask) == 0 && !own.reserve(r * part, part);
            }));
            expected += part;
            EXPECT_EQ(taken(s), expected) << "rank " << r << " reserves as much as is its own";
            EXPECT_FALSE(s.reserve(r * part, part));
            ASSERT_EQ(taken(s), expected) << "and nothing else";
            // In which NUMA domain: the kernel says it of what this process has touched.
            auto* const first = reinterpret_cast<volatile unsigned char*>(s.bytes().data() + r * part);
            void* pages[] = {const_cast<unsigned char*>(first)};
            int domain = static_cast<int>(*first);
            if (syscall(SYS_move_pages, 0, 1L, pages, nullptr, &domain, 0) != 0 || domain < 0) continue;
            const std::string cpu_folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/node" + std::to_string(domain);
            EXPECT_TRUE(access(cpu_folder.c_str(), F_OK) == 0 || numa_of(cpu).empty()) << cpu_folder;
        }
        s.unlink();
        EXPECT_FALSE(s.reserve(0, part)) << "nothing is left to be done";
    }
}

}  // namespace
}  // namespace fanlight

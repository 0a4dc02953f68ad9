// gatherv, scatterv and alltoallv by levels, and alltoallv by digits: the lengths come to whoever needs them, and with these alone each rank makes its
// part of the schedule that it would make if it knew all.
#include "algorithms/lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "schedule/all_ranks.h"
#include "schedule/count.h"
#include "schedule/describe.h"
#include "schedule/verify.h"

namespace fanlight {
namespace {

constexpr const char* topologies[] = {"1x4", "4x1", "2x3", "2x2:cyclic", "1+3", "3+1+4:cyclic", "2x2x2", "2x(2+1)", "1x2x2", "2x2x4:cyclic", "2x1+1x3", "2x2x2x2"};

template <class Check>
void for_all(Check&& check) {
    for (const Algorithm& a : algorithms()) {
        if (!lengths_first(a) || a.operation == Operation::alltoallv) continue;
        for (const char* text : topologies)
            for (int root = 0; root < Topology::places(text); ++root) {
                Problem p;
                p.operation = a.operation;
                p.size = Topology::places(text);
                p.root = root;
                p.topology = Topology::from(text, p.size);
                for (int r = 0; r < p.size; ++r) p.blocks.push_back({0, r % 3 == 1 ? 0 : r % 5 == 2 ? 5000 : static_cast<std::size_t>(8 * r + 1)});
                lay_side_by_side(p);
                check(a, p, "root " + std::to_string(root) + " on " + text);
            }
    }
}

TEST(Lengths, ComeToWhoeverStandsForOthers) {
    int checked = 0;
    for_all([&](const Algorithm& a, const Problem& p, const std::string& text) {
        const Problem lengths = lengths_of(a, p);
        const auto faults = verify(schedules_of_all(lengths_first(a)->schedule, lengths), lengths, {.calls = 2});
        EXPECT_TRUE(faults.empty()) << to_string(a.operation) << ", " << text << ": " << faults[0];
        checked += !lengths.edges.empty();
    });
    EXPECT_GT(checked, 80);
}

// One message to a node with ranks that need it, or none.
TEST(Lengths, TakeFewMessages) {
    Problem p;
    p.size = 12;
    p.topology = Topology::from("4x3", 12);
    p.root = 1;
    const auto messages = [&](Operation operation) {
        p.operation = operation;
        const Algorithm& a = *find_algorithm(operation, "by-levels");
        const Counts c = count(schedules_of_all(lengths_first(a)->schedule, lengths_of(a, p)), p.topology);
        return std::pair(c.all.messages, c.between[0].messages);
    };
    EXPECT_EQ(messages(Operation::gatherv), std::pair(std::size_t{6}, std::size_t{0}));
    EXPECT_EQ(messages(Operation::scatterv), std::pair(std::size_t{3}, std::size_t{3}));
}

std::string steps_of(const Schedule& s) {
    std::string text;
    for (std::size_t r = 0; r < s.rounds(); ++r) {
        for (const Step& step : s.round(r)) text += describe(step) + "\n";
        text += "--\n";
    }
    return text;
}

TEST(Lengths, AreAllThatARankNeeds) {
    for_all([&](const Algorithm& a, Problem p, const std::string& text) {
        for (p.rank = 0; p.rank < p.size; ++p.rank)
            ASSERT_EQ(steps_of(a.schedule(problem_at(p, p.rank))), steps_of(a.schedule(p))) << to_string(a.operation) << ", rank " << p.rank << ", " << text;
    });
}

TEST(Lengths, LongBlocksGoStraight) {
    for_all([&](const Algorithm& a, Problem p, const std::string& text) {
        for (Block& b : p.blocks) b.bytes = b.bytes ? 5000 : 0;
        lay_side_by_side(p);
        std::size_t all = 0;
        for (int r = 0; r < p.size; ++r)
            if (r != p.root) all += p.block(r).bytes;
        EXPECT_EQ(count(schedules_of_all(a.schedule, p), p.topology).all.bytes, all) << text;
    });
}

// alltoallv: what comes to a rank's places are the lengths of what it passes on.
template <class Told>
void check_what_is_heard(const Algorithm& a, Problem p, int& heard_at_all, const std::string& text, Told&& told) {
    std::vector<std::size_t> lengths;
    for (int i = 0; i < p.size * p.size; ++i) lengths.push_back(static_cast<std::size_t>(i % 7 == 3 ? 0 : i));
    set_exchange(p, lengths);
    std::vector<std::map<std::size_t, std::size_t>> heard(static_cast<std::size_t>(p.size));
    for (const Edge& e : lengths_of(a, p).edges)
        for (std::size_t k = 0; k < e.bytes / 8; ++k)
            heard[static_cast<std::size_t>(e.to)][e.taken / 8 + k] = lengths[static_cast<std::size_t>(e.from * p.size + told[e.sent / 8 + k])];
    for (int r = 0; r < p.size; ++r) {
        const Problem own = problem_at(p, r);
        for (const Awaited& w : awaited_lengths(a, own)) {
            ASSERT_TRUE(heard[static_cast<std::size_t>(r)].contains(w.place)) << text;
            EXPECT_EQ(heard[static_cast<std::size_t>(r)][w.place], length_between(own, w.from, w.to)) << text << ", rank " << r << ", place " << w.place;
            ++heard_at_all;
        }
    }
}

TEST(Lengths, AreToldByNeighbors) {
    int heard_at_all = 0;
    const Algorithm& a = *find_algorithm(Operation::alltoallv, "by-levels");
    for (const char* text : topologies) {
        Problem p;
        p.operation = Operation::alltoallv;
        p.size = Topology::places(text);
        p.topology = Topology::from(text, p.size);
        check_what_is_heard(a, p, heard_at_all, text, told_lengths(a, p));
    }
    EXPECT_GT(heard_at_all, 400);
}

TEST(Lengths, TravelByDigits) {
    int heard_at_all = 0;
    const Algorithm& a = *find_algorithm(Operation::alltoallv, "bruck");
    for (const int size : {1, 2, 3, 4, 5, 7, 8, 13, 16, 27, 33})
        for (const unsigned degree : {0u, 3u, 4u, 8u, 40u}) {
            Problem p;
            p.operation = Operation::alltoallv;
            p.size = size;
            p.parameters.degree = static_cast<decltype(p.parameters.degree)>(degree);
            const std::string text = std::to_string(size) + " ranks, degree " + std::to_string(degree);
            check_what_is_heard(a, p, heard_at_all, text, told_lengths(a, p));
            const Problem lengths = lengths_of(a, p);
            const auto faults = verify(schedules_of_all(lengths_first(a)->schedule, lengths), lengths, {.calls = 2});
            EXPECT_TRUE(faults.empty()) << text << ": " << faults[0];
        }
    EXPECT_GT(heard_at_all, 8000);
}

// (k - 1) ceil(log_k P) messages of a rank; long blocks straight.
TEST(Lengths, ShortBlocksGoByDigits) {
    const Algorithm& a = *find_algorithm(Operation::alltoallv, "bruck");
    Problem p;
    p.operation = a.operation;
    p.size = 16;
    const auto messages = [&](std::size_t bytes, int degree) {
        p.parameters.degree = degree;
        set_exchange(p, std::vector<std::size_t>(256, bytes));
        const Counts c = count(schedules_of_all(a.schedule, p), p.topology);
        return std::pair(c.all.messages, c.all.bytes);
    };
    EXPECT_EQ(messages(100, 0), std::pair(std::size_t{16 * 4}, std::size_t{16 * 4 * 8 * 100}));
    EXPECT_EQ(messages(100, 4), std::pair(std::size_t{16 * 2 * 3}, std::size_t{16 * 2 * 12 * 100}));
    EXPECT_EQ(messages(5000, 0), std::pair(std::size_t{16 * 15}, std::size_t{16 * 15 * 5000}));
}

// With d domains of n ranks: n - 1 and d - 1 messages of a rank instead of all d n - 1.
TEST(Lengths, ShortBlocksGoInFewMessages) {
    const Algorithm& a = *find_algorithm(Operation::alltoallv, "by-levels");
    Problem p;
    p.operation = a.operation;
    p.size = 12;
    p.topology = Topology::from("3x4:cyclic", 12);
    const auto messages = [&](std::size_t bytes) {
        set_exchange(p, std::vector<std::size_t>(144, bytes));
        const Counts c = count(schedules_of_all(a.schedule, p), p.topology);
        return std::pair(c.all.messages, c.between[0].messages);
    };
    // To each neighbor what it passes on, and its own block.
    EXPECT_EQ(messages(100), std::pair(std::size_t{12 * (2 * 3 + 2)}, std::size_t{12 * 2}));
    EXPECT_EQ(messages(5000), std::pair(std::size_t{12 * 11}, std::size_t{12 * 8}));
}

}  // namespace
}  // namespace fanlight

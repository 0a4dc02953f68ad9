#include "model/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "../schedule/samples.h"
#include "algorithms/registry.h"
#include "model/one_buffer.h"
#include "schedule/all_ranks.h"

namespace fanlight {
namespace {

// Whole numbers, so that the sums can be done by hand; bandwidth without a limit where none is named.
Machine machine(const std::string& node, const std::string& rest, const std::string& ranks = "step=1 reader=7") {
    return Machine::from("test", "ranks " + ranks + "\nnode * " + node + "\n" + rest);
}
Step step(StepKind kind, int peer, std::size_t bytes = 0) {
    Step s{};
    s.kind = kind;
    s.peer = peer;
    s.bytes = bytes;
    s.from = input();
    s.to = output();
    return s;
}
samples::Sample sample_of(std::vector<Schedule> ranks) {
    return {samples::problem_of(Operation::barrier, static_cast<int>(ranks.size()), 0), std::move(ranks)};
}
constexpr Transfer in_place{.inlined = 0, .copied_once = 0, .own_pages = true, .asks_ahead = false};

double seconds(const samples::Sample& s, const Machine& m, const Transfer& t = {}, int nodes = 0) {
    return simulate(s.ranks, m, Placement(m, s.problem.size, nodes), t).seconds;
}

TEST(simulate, a_chain_of_hops) {
    const Machine m = machine("", "core 4 hop=100 bandwidth=2");
    // The root's copy reads and writes 8 bytes (8); then the put (1), the hop (100), and that it is seen (1).
    EXPECT_DOUBLE_EQ(seconds(samples::chain_broadcast(2, 8), m), 8 + 1 + 101);
    EXPECT_DOUBLE_EQ(seconds(samples::chain_broadcast(4, 8), m), 8 + 3 * 102);
}

TEST(simulate, hops_by_level_and_pages) {
    const Machine m = machine("", "socket 2 hop=1000\nl3 2 hop=100 away=500\ncore 2 hop=10 bandwidth=2");
    const Placement places(m, 8);
    const auto one = [&](int from, int to, const Transfer& t) {
        // One signal.
        std::vector<Schedule> s(8);
        for (Schedule& x : s) x.round_ends = {0};
        s[static_cast<std::size_t>(from)].steps = {step(StepKind::put, to)};
        s[static_cast<std::size_t>(to)].steps = {step(StepKind::arrive, from)};
        s[static_cast<std::size_t>(from)].round_ends = s[static_cast<std::size_t>(to)].round_ends = {1};
        return simulate(s, m, places, t).seconds - 2;
    };
    EXPECT_DOUBLE_EQ(one(0, 1, {}), 10);
    EXPECT_DOUBLE_EQ(one(0, 2, {}), 100);
    EXPECT_DOUBLE_EQ(one(0, 4, {}), 1000);
    EXPECT_DOUBLE_EQ(one(4, 5, {}), 10);   // in one cache, wherever the page is
    EXPECT_DOUBLE_EQ(one(4, 6, {}), 500);  // all pages are rank 0's
    EXPECT_DOUBLE_EQ(one(4, 6, in_place), 100);
}

TEST(simulate, readers_follow_each_other_and_lines_asked_for_ahead_overlap) {
    const Machine m = machine("", "core 9 hop=100 bandwidth=2", "step=0 reader=7 gather=4");
    const auto reads = [&](int readers) {
        std::vector<Schedule> s(static_cast<std::size_t>(readers + 1));
        for (int r = 1; r <= readers; ++r) {
            s[0].readers.push_back(r);
            s[static_cast<std::size_t>(r)].steps = {step(StepKind::get, 0)};
            s[static_cast<std::size_t>(r)].round_ends = {1};
        }
        s[0].steps = {step(StepKind::offer, -1)};
        s[0].steps[0].readers = static_cast<std::uint32_t>(readers);
        s[0].round_ends = {1};
        s[0].offers = 1;
        return seconds(sample_of(s), m);
    };
    EXPECT_DOUBLE_EQ(reads(1), 100);
    EXPECT_DOUBLE_EQ(reads(5), 100 + 4 * 7);
    // Eight signals to one rank, waited for one after the other, or with four lines on their way.
    std::vector<Schedule> s(9);
    for (int r = 1; r < 9; ++r) {
        s[0].steps.push_back(step(StepKind::arrive, r));
        s[static_cast<std::size_t>(r)].steps = {step(StepKind::put, 0)};
        s[static_cast<std::size_t>(r)].round_ends = {1};
    }
    s[0].round_ends = {8};
    EXPECT_DOUBLE_EQ(seconds(sample_of(s), m), 800);
    EXPECT_DOUBLE_EQ(seconds(sample_of(s), m, {.inlined = 112, .copied_once = 32768, .own_pages = false, .asks_ahead = true}), 100 + 7 * 25);
    // Bits of one word: one after the other as well, but it is their writers who take turns.
    for (Schedule& x : s)
        for (Step& step : x.steps) step.bit = true;
    const auto finish = simulate(s, m, Placement(m, 9)).finish;
    EXPECT_DOUBLE_EQ(*std::max_element(finish.begin() + 1, finish.end()), 700);
}

TEST(simulate, links_bear_what_comes_in_and_what_goes_out) {
    const Machine m = machine("", "socket 3 link=0.5\ncore 2 bandwidth=2", "step=0");
    // Who of 0 to 5 reads 4000 bytes of whom.
    const auto reads = [&](std::vector<std::pair<int, int>> pairs) {
        std::vector<Schedule> s(6);
        for (Schedule& x : s) x.round_ends = {0};
        for (const auto& [reader, owner] : pairs) {
            Schedule &from = s[static_cast<std::size_t>(owner)], &to = s[static_cast<std::size_t>(reader)];
            from.readers = {reader};
            from.steps = {step(StepKind::offer, -1, 4000)};
            from.steps[0].readers = 1;
            from.offers = 1;
            to.steps = {step(StepKind::get, owner, 4000)};
            from.round_ends = to.round_ends = {1};
        }
        return seconds(sample_of(s), m, in_place);
    };
    EXPECT_NEAR(reads({{0, 1}}), 4000, 1e-6);           // nothing leaves the socket
    EXPECT_NEAR(reads({{0, 2}}), 8000, 1e-6);
    EXPECT_NEAR(reads({{0, 2}, {1, 4}}), 16000, 1e-6);  // both come in by one link
    EXPECT_NEAR(reads({{0, 2}, {4, 3}}), 16000, 1e-6);  // both go out by one link
    EXPECT_NEAR(reads({{0, 2}, {3, 1}}), 8000, 1e-6);   // one in, one out
}

TEST(simulate, what_is_combined_stays_in_the_cores_cache_while_it_fits) {
    const Machine m = machine("", "core 2 bandwidth=2 size=3000");
    const auto combine = [&](std::size_t bytes) {
        std::vector<Schedule> s(1);
        s[0].steps = {step(StepKind::combine, -1, bytes)};
        s[0].steps[0].order = Order::after;
        s[0].round_ends = {1};
        return simulate(s, m, Placement(m, 1)).seconds;
    };
    EXPECT_NEAR(combine(3000), 1500, 1e-6);
    EXPECT_NEAR(combine(4000), 6000, 1e-6);
}

TEST(simulate, bandwidth_is_shared_by_those_who_use_it_at_that_time) {
    const auto copies = [](const Machine& m, std::vector<std::size_t> bytes) {
        std::vector<Schedule> s(bytes.size());
        for (std::size_t r = 0; r < bytes.size(); ++r) {
            s[r].steps = {step(StepKind::copy, -1, bytes[r])};
            s[r].round_ends = {1};
        }
        return simulate(s, m, Placement(m, static_cast<int>(bytes.size()))).seconds;
    };
    const Machine m = machine("", "l3 2 bandwidth=3\ncore 2 bandwidth=2");
    // 8000 bytes read and written: 8000 at 2 for each, 16000 for two at 3 together.
    EXPECT_NEAR(copies(m, {8000}), 8000, 1e-6);
    EXPECT_NEAR(copies(m, {8000, 8000}), 32000 / 3.0, 1e-6);
    EXPECT_NEAR(copies(m, {8000, 8000, 8000}), 32000 / 3.0, 1e-6);
    // The long one has it alone when the short one is over.
    EXPECT_NEAR(copies(m, {4000, 8000}), 16000 / 3.0 + 4000, 1e-6);
}

TEST(simulate, what_exceeds_a_cache_comes_from_memory) {
    const Machine m = machine("", "numa 2 memory=0.5 size=20000\ncore 2 bandwidth=2");
    const auto copy = [&](std::size_t bytes) {
        std::vector<Schedule> s(1);
        s[0].steps = {step(StepKind::copy, -1, bytes)};
        s[0].round_ends = {1};
        return simulate(s, m, Placement(m, 1)).seconds;
    };
    EXPECT_NEAR(copy(10000), 10000, 1e-6);
    EXPECT_NEAR(copy(20000), 40000 / 0.5, 1e-6);
}

TEST(simulate, staged_bytes_are_copied_twice) {
    const Machine m = machine("", "core 4 hop=100 bandwidth=2", "step=0");
    const auto s = samples::chain_broadcast(2, 4000);
    const double root = 4000;
    // Into the staging, a hop for the flag and one for the data, and out of it.
    EXPECT_NEAR(seconds(s, m, {.inlined = 0, .copied_once = 1 << 20, .own_pages = false, .asks_ahead = false}), root + 4000 + 200 + 4000, 1e-6);
    // Written straight into place, when the place has been told (a hop), and told (a hop).
    EXPECT_NEAR(seconds(s, m, in_place), root + 200 + 4000 + 100, 1e-6);
    // By a system call of 500, at a quarter of a byte.
    const Machine slow = machine("", "core 4 hop=100 bandwidth=2", "step=0 call=500 copied=0.25");
    EXPECT_NEAR(seconds(s, slow, in_place), root + 200 + 500 + 16000 + 100, 1e-6);
}

TEST(simulate, in_one_buffer_the_roots_bytes_stay_where_they_are) {
    const Machine m = machine("", "core 4 hop=100 bandwidth=2 size=5000", "step=0");
    auto s = samples::chain_broadcast(2, 4000);
    s.ranks = in_one_buffer(std::move(s.ranks));
    EXPECT_NEAR(seconds(s, m, {.inlined = 0, .copied_once = 1 << 20, .own_pages = false, .asks_ahead = false}), 4000 + 200 + 4000, 1e-6);
}

TEST(simulate, parts_of_what_is_offered_lie_where_the_whole_does) {
    const Machine m = machine("", "core 4 hop=100 bandwidth=2", "step=0 call=500 copied=0.25");
    std::vector<Schedule> s(2);
    s[0].steps = {step(StepKind::offer, -1, 8000)};
    s[1].steps = {step(StepKind::get, 0, 4000)};
    s[0].steps[0].readers = 1;
    s[0].readers = {1};
    s[0].offers = 1;
    for (Schedule& one : s) one.round_ends = {1};
    // The whole is not staged, so that a part is read by a system call; it would be, and cost no call, were the whole as short.
    const Transfer transfer{.inlined = 0, .copied_once = 6000, .own_pages = false, .asks_ahead = false};
    EXPECT_NEAR(seconds(s, m, transfer), 200 + 500 + 16000, 1e-6);
    s[0].steps[0].bytes = 4000;
    EXPECT_NEAR(seconds(s, m, transfer), 4000 + 200 + 4000, 1e-6);  // each time read and written
}

TEST(simulate, between_nodes) {
    const Machine m = machine("latency=1000 overhead=50 link=2 eager=500", "core 4 hop=100 bandwidth=2", "step=0");
    // o, the bytes at G, L, o; the root's own copy before.
    EXPECT_DOUBLE_EQ(seconds(samples::chain_broadcast(2, 400), m, {}, 2), 400 + 50 + 200 + 1000 + 50);
    // A long one asks first: one latency more.
    EXPECT_DOUBLE_EQ(seconds(samples::chain_broadcast(2, 800), m, {}, 2), 800 + 50 + 400 + 2000 + 50);
    // Two that leave one node share its link.
    const auto s = samples::direct_alltoall(3, 400);
    EXPECT_GT(seconds(s, m, {}, 3), 400 + 1000);
}

TEST(simulate, nothing_costs_nothing_and_what_waits_for_ever_is_told) {
    const Machine m = machine("", "core 4 hop=100 bandwidth=2");
    EXPECT_EQ(seconds(samples::signal_barrier(1), m), 0);
    std::vector<Schedule> s(2);
    for (int r = 0; r < 2; ++r) {
        s[static_cast<std::size_t>(r)].steps = {step(StepKind::arrive, 1 - r), step(StepKind::put, 1 - r)};
        s[static_cast<std::size_t>(r)].round_ends = {1, 2};
    }
    EXPECT_THROW(seconds(sample_of(s), m), std::invalid_argument);
}

TEST(simulate, the_timeline_has_every_step) {
    const Machine m = machine("", "core 4 hop=100 bandwidth=2");
    const auto s = samples::linear_allreduce(4, 64, 8);
    const Simulation run = simulate(s.ranks, m, Placement(m, 4), {}, true);
    std::size_t steps = 0;
    for (const Schedule& x : s.ranks) steps += x.steps.size();
    EXPECT_EQ(run.spans.size(), steps);
    for (const Span& x : run.spans) {
        EXPECT_LE(x.begin, x.ready);
        EXPECT_LE(x.ready, x.end);
        EXPECT_LE(x.end, run.finish[static_cast<std::size_t>(x.rank)]);
    }
}

// Everything in the catalogue comes to its end, short and long, inside a node and between nodes.
TEST(simulate, the_whole_catalogue) {
    const Machine m = machine_named("rome2x64");
    for (const Algorithm& a : algorithms())
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{65536}})
            for (const int nodes : {1, 2}) {
                Problem p{.operation = a.operation, .size = 8, .bytes = a.operation == Operation::barrier ? 0 : bytes, .element = 8};
                if (a.operation == Operation::alltoallv) set_exchange(p, std::vector<std::size_t>(64, bytes));
                else if (family_of(a.operation) == Family::blocks_v)
                    for (std::size_t r = 0; r < 8; ++r) p.blocks.push_back({r * bytes, bytes});
                else if (family_of(a.operation) == Family::neighbors) set_ring(p, bytes);
                const Placement places(m, 8, nodes);
                p.topology = places.topology();
                const double t = simulate(schedules_of_all(a.schedule, p), m, places).seconds;
                EXPECT_GT(t, 0) << to_string(a.operation) << " " << a.name;
                EXPECT_LT(t, 0.01) << to_string(a.operation) << " " << a.name;
            }
}

}  // namespace
}  // namespace fanlight

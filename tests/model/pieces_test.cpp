// Long messages in pieces, and what one-sided epochs add.
#include "model/pieces.h"

#include <gtest/gtest.h>

#include "../schedule/samples.h"
#include "model/epochs.h"

namespace fanlight {
namespace {

Machine of_four_cores(const std::string& node, const std::string& ranks = "step=0") {
    return Machine::from("test", "ranks " + ranks + "\nnode * " + node + "\ncore 4 hop=100 bandwidth=2");
}
constexpr std::size_t never = std::size_t{1} << 60;

double seconds(std::span<const Schedule> s, const Machine& m, const Transfer& t = {}, int nodes = 0) {
    return simulate(s, m, Placement(m, static_cast<int>(s.size()), nodes), t).seconds;
}

// Rank 0 puts so many bytes to each other one, in one round.
std::vector<Schedule> puts(int ranks, std::size_t bytes) {
    std::vector<Schedule> s(static_cast<std::size_t>(ranks));
    for (int r = 1; r < ranks; ++r) {
        Step put{};
        put.kind = StepKind::put;
        put.peer = r;
        put.bytes = bytes;
        put.from = input();
        s[0].steps.push_back(put);
        Step arrive = put;
        arrive.kind = StepKind::arrive;
        arrive.peer = 0;
        s[static_cast<std::size_t>(r)].steps = {arrive};
        s[static_cast<std::size_t>(r)].round_ends = {1};
    }
    s[0].round_ends = {static_cast<std::uint32_t>(ranks - 1)};
    return s;
}

TEST(pieces, who_stages_the_next_piece_does_not_wait_for_who_takes_this_one) {
    const Machine m = of_four_cores("");
    const auto s = puts(2, 4000);
    Transfer staged{.inlined = 0, .copied_once = never, .own_pages = true, .asks_ahead = false};
    // In (4000), flag and data (200), out (4000); each further piece adds the longer of both sides.
    EXPECT_NEAR(seconds(s, m, staged), 8200, 1e-6);
    for (const int n : {2, 3, 8, 10, 100}) {
        staged.pieces = n;
        EXPECT_NEAR(seconds(s, m, staged), 4000 + n * 4200, 1e-6) << n;
        EXPECT_NEAR(seconds(s, m, staged), simulate_given(in_a_row(s, n), m, Placement(m, 2), staged, false).seconds, 1e-6) << n;
    }
    staged.pieces = 2.5;  // the last one is half as long
    EXPECT_NEAR(seconds(s, m, staged), 4000 + 2.5 * 4200, 1e-6);
}

TEST(pieces, have_offers_of_their_own) {
    const Machine m = of_four_cores("");
    const auto s = samples::offered_allgather(3, 4000);
    const auto three = in_a_row(s.ranks, 3);
    EXPECT_EQ(three[1].offers, 3 * s.ranks[1].offers);
    EXPECT_EQ(three[1].rounds(), 3 * s.ranks[1].rounds());
    EXPECT_NO_THROW(seconds(three, m));
    // Who takes offers of the first piece again would read what is not there yet, and be too fast.
    EXPECT_GT(seconds(three, m), 2.5 * seconds(s.ranks, m));
}

TEST(pieces, of_long_buffers_do_not_lie_in_the_cache) {
    const Machine m = Machine::from("test", "node *\nl3 1 memory=0.1 size=100000\ncore 2 bandwidth=2");
    const auto s = puts(2, 4000);
    EXPECT_GT(seconds(s, m, {.pieces = 100}), 5 * seconds(s, m, {.pieces = 10}) * 2);
}

TEST(caches, what_a_cores_own_does_not_hold_takes_longer) {
    const auto copy = [](std::size_t bytes) {
        const Machine m = Machine::from("test", "node *\ncore 2 bandwidth=2 memory=0.5 size=10000");
        std::vector<Schedule> s(1);
        Step step{};
        step.kind = StepKind::copy;
        step.from = input();
        step.to = output();
        step.bytes = bytes;
        s[0].steps = {step};
        s[0].round_ends = {1};
        return simulate(s, m, Placement(m, 1)).seconds;
    };
    EXPECT_NEAR(copy(5000), 5000, 1e-6);
    EXPECT_NEAR(copy(10000), 20000 / 0.5, 1e-6);
    EXPECT_NEAR(copy(7500), 15000 * 0.5 / 0.5, 1e-6);  // half of it
}

TEST(calls, begin_a_while_before_their_first_step) {
    EXPECT_DOUBLE_EQ(seconds(puts(2, 8), of_four_cores("", "step=0 begin=1000")), 1000 + seconds(puts(2, 8), of_four_cores("")));
}

TEST(epochs, a_fence_is_a_barrier_behind_each_round) {
    const Machine m = of_four_cores("latency=1000 overhead=50 link=2 eager=500");
    const auto s = puts(2, 400);
    EXPECT_DOUBLE_EQ(seconds(s, m, {}, 2), 50 + 200 + 1000 + 50);
    // Rank 0 leaves when rank 1, which has the bytes, has said so.
    EXPECT_DOUBLE_EQ(seconds(fenced(s), m, {}, 2), 1300 + 50 + 1000 + 50);
}

TEST(epochs, under_locks_each_put_is_alone) {
    const Machine m = of_four_cores("latency=1000 overhead=50 link=2 eager=500");
    const Transfer locks{.locks = true};
    // The lock there and back, the put, the unlock's answer; the same for the second.
    EXPECT_DOUBLE_EQ(seconds(one_by_one(puts(2, 400)), m, locks, 2), 50 + 2000 + 200 + 1000 + 1000);
    EXPECT_DOUBLE_EQ(seconds(one_by_one(puts(3, 400)), m, locks, 3), 2 * (50 + 2000 + 200 + 1000 + 1000));
    // However long it is, it asks nobody first.
    EXPECT_DOUBLE_EQ(seconds(one_by_one(puts(2, 4000)), m, locks, 2), 50 + 2000 + 2000 + 1000 + 1000);
}

}  // namespace
}  // namespace fanlight

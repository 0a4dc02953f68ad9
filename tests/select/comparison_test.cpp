// Which side the guard chooses, on times that are made up.
#include "select/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace fanlight {
namespace {

using Verdict = Comparison::Verdict;

// What a call of this side takes on each rank: when it enters after the first, when it is out again after the last.
struct Times {
    std::int64_t late = 0, took = 0;
};
using Machine = std::function<Times(bool theirs, std::uint32_t call)>;

// `ranks` ranks that share nothing but what is combined; returns their verdict, which must be one.
Verdict compare(const Machine& machine, int ranks = 2, std::uint32_t* calls = nullptr, double* ratio = nullptr) {
    std::vector<Comparison> all(static_cast<std::size_t>(ranks));
    std::int64_t now = 1000;
    while (all[0].verdict() == Verdict::open) {
        const bool theirs = all[0].is_theirs();
        const Times t = machine(theirs, all[0].calls());
        bool due = false;
        for (std::size_t r = 0; r < all.size(); ++r) {
            EXPECT_EQ(all[r].is_theirs(), theirs);
            // The last rank is late; each ends at its own time, the first one last.
            const std::int64_t enter = now + (r + 1 == all.size() ? t.late : 0);
            due = all[r].over(enter, now + t.late + t.took - static_cast<std::int64_t>(r));
        }
        now += t.late + t.took + 10;
        if (!due) continue;
        std::vector<std::int64_t> last(all[0].times().begin(), all[0].times().end());
        for (const Comparison& c : all)
            for (std::size_t i = 0; i < last.size(); ++i) last[i] = std::max(last[i], c.times()[i]);
        for (Comparison& c : all) c.judge(last);
        for (const Comparison& c : all) EXPECT_EQ(c.verdict(), all[0].verdict());
    }
    if (calls) *calls = all[0].calls();
    if (ratio) *ratio = all[0].ratio();
    return all[0].verdict();
}

Machine steady(std::int64_t ours, std::int64_t theirs) {
    return [=](bool is_theirs, std::uint32_t) { return Times{0, is_theirs ? theirs : ours}; };
}

TEST(Comparison, ItsOrderIsFixed) {
    Comparison c;
    std::string order;
    for (std::uint32_t call = 0; call < Comparison::calls_before + 2 * Comparison::round; ++call) {
        if (call >= Comparison::calls_before && call % Comparison::block == 0) order += c.is_theirs() ? 't' : 'o';
        EXPECT_FALSE(call < Comparison::calls_before && (c.is_theirs() || c.is_measured()));
        EXPECT_EQ(c.is_measured(), call >= Comparison::calls_before && call % Comparison::block != 0);
        c.over(0, 1);
    }
    EXPECT_EQ(order, "otto" "toot" "toot" "otto");
    EXPECT_EQ(c.times().size(), 2 * 2 * 8 * 3u);
}

TEST(Comparison, WhatIsClearTakesOneRound) {
    std::uint32_t calls = 0;
    double ratio = 0;
    EXPECT_EQ(compare(steady(2000, 1000), 2, &calls, &ratio), Verdict::theirs);
    EXPECT_EQ(calls, Comparison::calls_before + Comparison::round);
    EXPECT_DOUBLE_EQ(ratio, 2);
    EXPECT_EQ(compare(steady(1000, 2000), 2, &calls, &ratio), Verdict::ours);
    EXPECT_EQ(calls, Comparison::calls_before + Comparison::round);
    EXPECT_DOUBLE_EQ(ratio, 0.5);
}

TEST(Comparison, ALittleFasterIsNotEnough) {
    EXPECT_EQ(compare(steady(1000, 1000)), Verdict::ours);
    EXPECT_EQ(compare(steady(1040, 1000)), Verdict::ours);
    EXPECT_EQ(compare(steady(1060, 1000)), Verdict::theirs);
    EXPECT_EQ(compare(steady(0, 0)), Verdict::ours);
    EXPECT_EQ(compare(steady(1, 0)), Verdict::ours) << "a clock that does not tick";
}

// Half of all calls take ten times as long, whoever serves them.
TEST(Comparison, NoiseDoesNotChange) {
    int wrong = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        const auto noisy = [&](std::int64_t ours, std::int64_t theirs) {
            return [&random, ours, theirs](bool is_theirs, std::uint32_t) {
                const double noise = std::lognormal_distribution<>(0, 0.2)(random) * (random() % 4 == 0 ? 10 : 1);
                return Times{0, static_cast<std::int64_t>(noise * static_cast<double>(is_theirs ? theirs : ours))};
            };
        };
        wrong += compare(noisy(1500, 1000)) != Verdict::theirs;
        wrong += compare(noisy(1000, 1500)) != Verdict::ours;
        wrong += compare(noisy(1000, 1000)) != Verdict::ours;
    }
    EXPECT_LE(wrong, 15) << "of 300";
}

// The program's last rank comes late, most often far more than a call takes, and later before theirs.
TEST(Comparison, ALateRankDoesNotCount) {
    std::mt19937 random(1);
    const auto late = [&](std::int64_t ours, std::int64_t theirs) {
        return [&random, ours, theirs](bool is_theirs, std::uint32_t) {
            return Times{static_cast<std::int64_t>(random() % (is_theirs ? 200000 : 100000)), is_theirs ? theirs : ours};
        };
    };
    EXPECT_EQ(compare(late(2000, 1000), 8), Verdict::theirs);
    EXPECT_EQ(compare(late(1000, 2000), 8), Verdict::ours);
}

// A machine that slows down, or warms up, from the first call to the last.
TEST(Comparison, WhatChangesSlowlyMeetsBoth) {
    for (const double per_call : {1.01, 0.99}) {
        const auto drifting = [&](bool, std::uint32_t call) {
            return Times{0, static_cast<std::int64_t>(100000 * std::pow(per_call, call))};
        };
        EXPECT_EQ(compare(drifting), Verdict::ours) << per_call;
    }
}

// The first calls, and the first of each block, are slow: pages, plans, the other side's leftovers.
TEST(Comparison, FirstCallsDoNotCount) {
    const auto cold = [](bool is_theirs, std::uint32_t call) {
        const bool first = call < Comparison::calls_before || call % Comparison::block == 0;
        return Times{0, (is_theirs ? 2000 : 1000) * (first && !is_theirs ? 1000 : 1)};
    };
    EXPECT_EQ(compare(cold), Verdict::ours);
}

TEST(Comparison, IsOverForGood) {
    std::uint32_t calls = 0;
    // Neither is clearly faster.
    const auto open = [](bool, std::uint32_t call) { return Times{0, call / 4 % 2 ? 1000 : 1200}; };
    EXPECT_EQ(compare(open, 3, &calls), Verdict::ours);
    EXPECT_LE(calls, Comparison::calls_before + Comparison::most_rounds * Comparison::round);

    Comparison c;
    while (c.verdict() == Verdict::open) {
        const std::int64_t took = c.is_theirs() ? 1 : 9;
        if (c.over(0, took)) c.judge(std::vector(c.times().begin(), c.times().end()));
    }
    EXPECT_EQ(c.verdict(), Verdict::theirs);
    EXPECT_TRUE(c.is_theirs());
    EXPECT_TRUE(c.times().empty());
}

TEST(Comparison, Coins) {
    EXPECT_DOUBLE_EQ(at_least(0, 0), 1);
    EXPECT_NEAR(at_least(1, 1), 0.5, 1e-12);
    EXPECT_NEAR(at_least(11, 12), 13.0 / 4096, 1e-12);
    EXPECT_NEAR(at_least(48, 96), 0.5406, 1e-4);
}

}  // namespace
}  // namespace fanlight

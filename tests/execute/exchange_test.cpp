// What one rank sends is what another one receives, by their own computations alone.
#include "execute/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "catalogue.h"
#include "execute/composition.h"
#include "schedule/all_ranks.h"

namespace fanlight::testing {
namespace {

struct Seen {
    std::size_t bytes, slot;
    std::uint32_t flag, epoch;
    bool offered;
    friend bool operator==(const Seen&, const Seen&) = default;
    friend bool operator<(const Seen& a, const Seen& b) {
        return std::tie(a.bytes, a.slot, a.flag, a.epoch, a.offered) < std::tie(b.bytes, b.slot, b.flag, b.epoch, b.offered);
    }
};
// (sender, receiver, number) -> what of it is known
using Messages = std::map<std::tuple<int, int, std::uint32_t>, Seen>;

void expect_same(const Messages& sent, const Messages& received, const Algorithm& a, const Problem& p) {
    EXPECT_EQ(sent.size(), received.size());
    EXPECT_TRUE(sent == received) << to_string(a.operation) << ":" << a.name << " on " << p.size << " ranks, root " << p.root;
}

// Only for windows does it matter where a message lies.
Messages messages(const std::vector<Exchange>& all, std::span<const int> members, Transfer::Kind kind, Need need) {
    Messages result;
    for (std::size_t r = 0; r < all.size(); ++r)
        for (const Transfer& t : all[r].steps) {
            if (t.kind != kind) continue;
            const RemoteMessage& m = t.message;
            const bool sends = kind == Transfer::Kind::send;
            const auto key = std::tuple(sends ? members[r] : m.peer, sends ? m.peer : members[r], m.number);
            const Seen seen = need == Need::numbers ? Seen{m.bytes, 0, 0, 0, m.offered}
                                                    : Seen{m.bytes, m.slot, m.flag, m.epoch, m.offered};
            const bool is_new = result.emplace(key, seen).second;
            EXPECT_TRUE(is_new) << "two messages of one number";
        }
    return result;
}

std::vector<Exchange> exchanges(const Algorithm& a, const Problem& whole, std::span<const int> members, Need need) {
    std::vector<Exchange> all;
    for (int r = 0; r < whole.size; ++r)
        // The windows need all ranks' schedules, and with them what gatherv's ranks do not know.
        all.push_back(exchange(a, need == Need::numbers ? problem_at(whole, r) : [&] { Problem p = whole; p.rank = r; return p; }(),
                               members, need));
    return all;
}

// alltoallv's ranks, and those of neighborhoods, know their own lengths alone, and cannot compute the others' schedules: it is
// for the shared transport.
template <class Check>
void for_all(int most, Check&& check) {
    for (const Algorithm& a : algorithms())
        for (int size = 1; size <= most; ++size) {
            std::vector<int> members(static_cast<std::size_t>(size));
            for (int i = 0; i < size; ++i) members[static_cast<std::size_t>(i)] = 100 + 3 * i;
            for (const Problem& p : problems(a, size, {1, 33}))
                if (a.operation != Operation::alltoallv && family_of(a.operation) != Family::neighbors && restriction(a, p).empty()) check(a, p, members);
        }
}

TEST(Composition, ReductionsOfLongElementsAreNotComposed) {
    const Topology nodes = Topology::from("2x2", 4);
    Problem p;
    p.size = 4;
    for (const Operation o : {Operation::reduce, Operation::allreduce, Operation::reduce_scatter_block, Operation::scan}) {
        p.operation = o;
        p.element = 4096;
        EXPECT_TRUE(composes(p, nodes.level(0))) << to_string(o);
        p.element = 4097;
        EXPECT_FALSE(composes(p, nodes.level(0))) << to_string(o);
    }
}

TEST(Exchange, WhatIsSentIsReceived) {
    for_all(9, [](const Algorithm& a, const Problem& p, const std::vector<int>& members) {
        for (const Need need : {Need::numbers, Need::fences}) {
            const auto all = exchanges(a, p, members, need);
            expect_same(messages(all, members, Transfer::Kind::send, need),
                        messages(all, members, Transfer::Kind::receive, need), a, p);
        }
    });
}

// Ranks without a part in it know how many fences there are, and how much room it takes.
TEST(Exchange, OthersKnowTheFences) {
    for_all(6, [](const Algorithm& a, const Problem& p, const std::vector<int>& members) {
        Problem other = p;
        other.rank = -1;
        const Exchange outside = exchange(a, other, members, Need::fences);
        EXPECT_TRUE(outside.steps.empty());
        for (const Exchange& x : exchanges(a, p, members, Need::fences)) {
            EXPECT_EQ(x.epochs, outside.epochs);
            EXPECT_EQ(x.area_bytes, outside.area_bytes);
            EXPECT_EQ(x.flags, outside.flags);
        }
    });
}

// What is received lies behind a fence that the sending round lies before, and a round's end
// behind all that it has received.
TEST(Exchange, FencesLieBetween) {
    for_all(9, [](const Algorithm& a, const Problem& p, const std::vector<int>& members) {
        for (const Exchange& x : exchanges(a, p, members, Need::fences)) {
            std::uint32_t step = 0, began = 0;
            for (const Exchange::Round& round : x.rounds) {
                for (; step < round.end; ++step) {
                    const Transfer& t = x.steps[step];
                    if (t.kind == Transfer::Kind::send) {
                        EXPECT_GT(t.message.epoch, began) << a.name;
                    } else if (t.kind == Transfer::Kind::receive) {
                        EXPECT_GE(t.message.epoch, began) << a.name;
                        EXPECT_GE(round.epoch, t.message.epoch + (t.message.offered ? 1 : 0)) << a.name;
                    }
                }
                EXPECT_GE(round.epoch, began);
                EXPECT_LE(round.epoch, x.epochs);
                began = round.epoch;
            }
        }
    });
}

// No two payloads share memory in a window.
TEST(Exchange, SlotsAreDisjoint) {
    for_all(7, [](const Algorithm& a, const Problem& p, const std::vector<int>& members) {
        const auto all = exchanges(a, p, members, Need::windows);
        std::map<int, std::vector<std::pair<std::size_t, std::size_t>>> used;
        for (std::size_t r = 0; r < all.size(); ++r)
            for (const Transfer& t : all[r].steps)
                if (t.kind == Transfer::Kind::receive && !t.message.offered && t.bytes)
                    used[static_cast<int>(r)].emplace_back(t.message.slot, t.message.slot + t.bytes);
        for (auto& [rank, ranges] : used) {
            std::sort(ranges.begin(), ranges.end());
            for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first) << a.name;
            EXPECT_LE(ranges.back().second, all[static_cast<std::size_t>(rank)].area_bytes);
        }
    });
}

}  // namespace
}  // namespace fanlight::testing

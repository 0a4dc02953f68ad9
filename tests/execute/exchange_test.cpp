// What one rank sends is what another one receives, by their own computations alone.
#include "execute/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "catalogue.h"
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
void add(Messages& all, int sender, int receiver, const RemoteMessage& m, Transport transport) {
    const Seen seen = transport == Transport::message ? Seen{m.bytes, 0, 0, 0, m.offered}
                                                      : Seen{m.bytes, m.slot, m.flag, m.epoch, m.offered};
    const bool is_new = all.emplace(std::tuple(sender, receiver, m.number), seen).second;
    EXPECT_TRUE(is_new) << "two messages of one number";
}

std::pair<Messages, Messages> messages(const std::vector<Exchange>& all, Transport transport) {
    Messages sent, received;
    for (std::size_t r = 0; r < all.size(); ++r) {
        for (const Exchange::Send& s : all[r].sends) add(sent, static_cast<int>(r), s.message.peer, s.message, transport);
        for (const RemoteMessage& m : all[r].receives) add(received, m.peer, static_cast<int>(r), m, transport);
    }
    return {sent, received};
}

struct Apart {
    Apart(int size, Transport transport) : numbers(static_cast<std::size_t>(size)) {
        std::iota(numbers.begin(), numbers.end(), 0);
        domains = Domains(numbers);
        reach = {.nodes = &domains, .transport = transport};
    }
    std::vector<int> numbers;
    Domains domains;
    Reach reach;
};

std::vector<Exchange> exchanges(const Algorithm& a, const Problem& whole, Transport transport) {
    std::vector<Exchange> all;
    const Apart apart(whole.size, transport);
    for (int r = 0; r < whole.size; ++r) {
        Problem p = whole;
        p.rank = r;
        // The windows need all ranks' schedules, and with them what gatherv's ranks do not know.
        all.push_back(exchange(a, transport == Transport::message ? problem_at(whole, r) : p, apart.reach));
    }
    return all;
}

// alltoallv's ranks, and those of neighborhoods, know their own lengths alone, and cannot compute the others' schedules: it is
// for the shared transport.
template <class Check>
void for_all(int most, Check&& check) {
    for (const Algorithm& a : algorithms())
        for (int size = 1; size <= most; ++size)
            for (const Problem& p : problems(a, size, {1, 33}))
                if (a.operation != Operation::alltoallv && family_of(a.operation) != Family::neighbors && restriction(a, p).empty()) check(a, p);
}

TEST(Exchange, WhatIsSentIsReceived) {
    for_all(9, [](const Algorithm& a, const Problem& p) {
        for (const Transport transport : {Transport::message, Transport::rma_fence}) {
            const auto [sent, received] = messages(exchanges(a, p, transport), transport);
            expect_same(sent, received, a, p);
        }
    });
}

// All ranks know how many fences there are, and how much room it takes.
TEST(Exchange, AllKnowTheFences) {
    for_all(6, [](const Algorithm& a, const Problem& p) {
        Problem other = p;
        other.rank = -1;
        const Exchange for_all_ranks = exchange(a, other, Apart(p.size, Transport::rma_fence).reach);
        EXPECT_TRUE(for_all_ranks.sends.empty() && for_all_ranks.receives.empty());
        for (const Exchange& x : exchanges(a, p, Transport::rma_fence)) {
            EXPECT_EQ(x.epochs, for_all_ranks.epochs);
            EXPECT_EQ(x.area_bytes, for_all_ranks.area_bytes);
            EXPECT_EQ(x.flags, for_all_ranks.flags);
        }
    });
}

// What is received lies behind a fence that the sending round lies before, and a round's end
// behind all that it has received.
TEST(Exchange, FencesLieBetween) {
    for_all(9, [](const Algorithm& a, const Problem& p) {
        const std::vector<Exchange> all = exchanges(a, p, Transport::rma_fence);
        for (int r = 0; r < p.size; ++r) {
            const Exchange& x = all[static_cast<std::size_t>(r)];
            Problem own = p;
            own.rank = r;
            const Schedule schedule = a.schedule(own);
            ASSERT_EQ(x.round_epochs.size(), schedule.rounds());
            std::uint32_t began = 0;
            std::size_t sent = 0, received = 0;
            for (std::size_t i = 0; i < schedule.rounds(); ++i) {
                const std::uint32_t end = x.round_epochs[i];
                for (; sent < x.sends.size() && x.sends[sent].step < schedule.round_ends[i]; ++sent)
                    EXPECT_GT(x.sends[sent].message.epoch, began) << a.name;
                for (const Step& s : schedule.round(i)) {
                    if (s.kind != StepKind::arrive && s.kind != StepKind::get) continue;
                    const RemoteMessage& m = x.receives[received++];
                    EXPECT_GE(m.epoch, began) << a.name;
                    EXPECT_GE(end, m.epoch + (m.offered ? 1 : 0)) << a.name;
                }
                EXPECT_GE(end, began);
                EXPECT_LE(end, x.epochs);
                began = end;
            }
        }
    });
}

// No two payloads share memory in a window.
TEST(Exchange, SlotsAreDisjoint) {
    for_all(7, [](const Algorithm& a, const Problem& p) {
        const auto all = exchanges(a, p, Transport::rma_flush);
        std::map<int, std::vector<std::pair<std::size_t, std::size_t>>> used;
        for (std::size_t r = 0; r < all.size(); ++r)
            for (const RemoteMessage& m : all[r].receives)
                if (!m.offered && m.bytes) used[static_cast<int>(r)].emplace_back(m.slot, m.slot + m.bytes);
        for (auto& [rank, ranges] : used) {
            std::sort(ranges.begin(), ranges.end());
            for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first) << a.name;
            EXPECT_LE(ranges.back().second, all[static_cast<std::size_t>(rank)].area_bytes);
        }
    });
}

}  // namespace
}  // namespace fanlight::testing

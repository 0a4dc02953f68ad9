// What one rank sends is what another one receives, by their own computations alone.
#include "execute/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "catalogue.h"
#include "execute/plan.h"
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

// So many ranks in a row share memory.
struct Nodes {
    Nodes(int size, int near, Transport transport) {
        for (int r = 0; r < size; ++r) numbers.push_back(r / near);
        domains = Domains(numbers);
        reach = {.nodes = &domains, .transport = transport};
    }
    std::vector<int> numbers;
    Domains domains;
    Reach reach;
};

std::vector<Exchange> exchanges(const Algorithm& a, const Problem& whole, Transport transport, int near = 1) {
    std::vector<Exchange> all;
    const Nodes nodes(whole.size, near, transport);
    for (int r = 0; r < whole.size; ++r) {
        Problem p = whole;
        p.rank = r;
        // The windows need all ranks' schedules, and with them what gatherv's ranks do not know.
        all.push_back(exchange(a, transport == Transport::message ? problem_at(whole, r) : p, nodes.reach));
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
        for (const auto& [transport, near] : {std::pair(Transport::message, 1), {Transport::rma_fence, 1}, {Transport::message, 2}, {Transport::rma_flush, 2}}) {
            const auto [sent, received] = messages(exchanges(a, p, transport, near), transport);
            expect_same(sent, received, a, p);
            for (const auto& [ends, seen] : sent) EXPECT_NE(std::get<0>(ends) / near, std::get<1>(ends) / near);
        }
    });
}

// All ranks know how many fences there are.
TEST(Exchange, AllKnowTheFences) {
    for_all(6, [](const Algorithm& a, const Problem& p) {
        const std::vector<Exchange> all = exchanges(a, p, Transport::rma_fence);
        for (const Exchange& x : all) EXPECT_EQ(x.epochs, all.front().epochs);
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

// No two payloads share memory in a window, nor two messages a flag, and both lie in the room that the planner asked for.
TEST(Exchange, SlotsAreDisjoint) {
    for_all(7, [](const Algorithm& a, const Problem& p) {
        for (const int near : {1, 2}) {
            const auto all = exchanges(a, p, Transport::rma_flush, near);
            const Nodes nodes(p.size, near, Transport::rma_flush);
            for (std::size_t r = 0; r < all.size(); ++r) {
                std::vector<std::pair<std::size_t, std::size_t>> ranges;
                std::set<std::uint32_t> flags;
                for (const RemoteMessage& m : all[r].receives) {
                    if (!m.offered && m.bytes) ranges.emplace_back(m.slot, m.slot + m.bytes);
                    EXPECT_TRUE(flags.insert(m.flag).second) << a.name;
                }
                std::set<std::pair<std::size_t, std::size_t>> offered;  // which several may read
                for (const Exchange::Send& s : all[r].sends)
                    if (s.message.offered && s.message.bytes) offered.emplace(s.message.slot, s.message.slot + s.message.bytes);
                std::sort(ranges.begin(), ranges.end());
                for (std::size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first) << a.name;
                for (const auto& [from, to] : offered)
                    for (const auto& [put, end] : ranges) EXPECT_TRUE(to <= put || end <= from) << a.name;
                ranges.insert(ranges.end(), offered.begin(), offered.end());
                Problem own = p;
                own.rank = static_cast<int>(r);
                const RemoteRoom used = needs_of(a.schedule(own), own.rank, SharedSlots(nullptr, near), {.reach = nodes.reach}).window;
                for (const auto& [from, to] : ranges) EXPECT_LE(to, used.bytes) << a.name;
                EXPECT_LE(flags.size(), used.flags) << a.name;
            }
        }
    });
}

TEST(Exchange, TwoRanksKnowTheLengthOfWhatGoesBetweenThem) {
    Problem p;
    const auto expect = [&](std::size_t bytes) {
        for (const int rank : {0, 1}) EXPECT_EQ(known_bytes(problem_at(p, rank)), bytes) << to_string(p.operation) << ", rank " << rank << ", root " << p.root;
    };
    p.size = 2;
    p.blocks = {{0, 100}, {100, 7}};
    for (const Operation operation : {Operation::gatherv, Operation::scatterv}) {
        p.operation = operation;
        for (p.root = 0; p.root < 2; ++p.root) expect(p.root == 0 ? 7 : 100);
    }
    p.root = 0;
    p.operation = Operation::allgatherv;
    expect(53);
    p.operation = Operation::alltoallv;
    set_exchange(p, std::vector<std::size_t>{1000, 2, 8, 1000});
    expect(5);
    for (const Operation operation : {Operation::neighbor_allgather, Operation::neighbor_alltoall, Operation::neighbor_alltoallv}) {
        p.operation = operation;
        set_edges(p, {{.from = 0, .to = 0, .bytes = 1000}, {.from = 0, .to = 1, .bytes = 8}, {.from = 1, .to = 0, .bytes = 2}, {.from = 0, .to = 1, .bytes = 8}});
        expect(6);
        set_edges(p, {{.from = 1, .to = 1, .bytes = 1000}});
        expect(0);
    }
    // Of three ranks one that is not the root knows its own block alone.
    p = {.operation = Operation::gatherv, .size = 3, .blocks = {{0, 8}, {8, 8}, {16, 8}}};
    EXPECT_EQ(known_bytes(problem_at(p, 0)), 0u);
}

}  // namespace
}  // namespace fanlight::testing

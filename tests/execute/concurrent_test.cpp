// Several operations of a group in flight at once, advanced by each rank in an order of its own;
// the ranks are threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>

#include "algorithms/lengths.h"
#include "catalogue.h"
#include "execute/lockstep.h"
#include "execute/operations_in_flight.h"
#include "on_threads.h"
#include "post_office.h"
#include "schedule/all_ranks.h"

namespace fanlight::testing {
namespace {

struct Random {
    unsigned state;
    unsigned operator()(unsigned below) {
        state = state * 1664525 + 1013904223;
        return (state >> 8) % below;
    }
};

struct Operands {
    Problem problem;
    Plan plan;
    Data data;
    Combiner combiner;
    Run run;
};

std::string check(const Operands& u) {
    if (u.data.out == u.data.expected) return {};
    return std::string(u.plan.name) + ": rank " + std::to_string(u.problem.rank) + " of " +
           std::to_string(u.problem.size) + " has a wrong result";
}

// All ranks start the same operations in the same order; how many are in flight at once, and
// when a rank looks at them, is different on each.
// `plan(algorithm, problem)` throws std::invalid_argument where all ranks cannot.
template <class Planner>
std::string mixed(Group& group, int rank, const std::vector<std::vector<Problem>>& problems, int calls, std::size_t at_once,
                  const Planner& plan) {
    Random same{12345}, own{static_cast<unsigned>(rank) * 7919 + 1};
    std::deque<Operands> all;
    for (int call = 0; call < calls; ++call) {
        const unsigned number = same(static_cast<unsigned>(problems.size()));
        const Algorithm& a = algorithms()[number];
        const auto& possible = problems[number];
        const unsigned which = same(1000);
        if (possible.empty()) continue;
        Operands& u = all.emplace_back();
        u.problem = possible[which % possible.size()];
        u.problem.rank = rank;
        u.combiner = u.problem.commutative ? sum_combiner() : affine_combiner();
        try {
            u.plan = plan(a, u.problem);
        } catch (const std::invalid_argument&) {
            all.pop_back();
            continue;
        }
        u.data = data_of(u.problem, call);
        group.start(u.run, u.plan, u.data.in.data(), u.data.out.data(), reduces(a.operation) ? &u.combiner : nullptr);
        for (unsigned looks = own(3); looks > 0; --looks) group.advance();
        while (all.size() > at_once || (!all.empty() && all.front().run.finished)) {
            while (!all.front().run.finished) {
                group.advance();
                std::this_thread::yield();
            }
            if (std::string wrong = check(all.front()); !wrong.empty()) return wrong;
            all.pop_front();
        }
    }
    while (group.advance()) std::this_thread::yield();
    for (const Operands& u : all)
        if (std::string wrong = check(u); !wrong.empty()) return wrong;
    return {};
}

std::string mixed(Group& group, const std::vector<std::vector<Problem>>& problems, int calls, std::size_t at_once) {
    return mixed(group, group.rank(), problems, calls, at_once, [&](const Algorithm& a, const Problem& p) { return plan_of(group, a, p); });
}

const std::vector<std::size_t> lengths{1, 15, 2049, 5001};
#ifdef __SANITIZE_THREAD__
constexpr int calls = 60, long_calls = 80;
#else
constexpr int calls = 400, long_calls = 400;
#endif

// A member writes down its next call, in the same place, while another one compares the last one.
TEST(Concurrent, WhatIsBeingWrittenDownIsNoOtherCall) {
    Aligned segment(Group::segment_bytes(2));
    const SharedSlots slots(segment.base, 2);
    Lockstep reader(slots, 0, 2), writer(slots, 1, 2);
    constexpr std::uint64_t same_place = 1 << 20;
    std::atomic<std::uint64_t> compared{0}, written{0};
    std::atomic<bool> over{false};
    std::thread other([&] {
        for (std::uint64_t call = 0; !over; ++call) {
            writer.record_call(call * same_place, call);
            written = call;
            while (compared < call && !over) std::this_thread::yield();
        }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    EXPECT_NO_THROW({
        for (std::uint64_t call = 0; std::chrono::steady_clock::now() < end; ++call) {
            reader.record_call(call * same_place, call);
            compared = call;
            do reader.compare(call * same_place);
            while (written <= call);
        }
    });
    over = true;
    other.join();
}

TEST(Concurrent, ManyAtOnce) {
    for (int size : {1, 2, 3, 5}) {
        const auto all = problems_of_all(size, lengths);
        for (bool single_copy : {false, true})
            EXPECT_EQ(on_threads(size, single_copy, [&](Group& g) { return mixed(g, all, calls, 70); }), "")
                << size << " ranks" << (single_copy ? ", single copy" : "");
    }
}

// So many that they take the later areas of the staging, and each place there several times.
TEST(Concurrent, ManyLongOnesAtOnce) {
#ifdef __SANITIZE_THREAD__  // takes ten times as long
    const std::vector<std::size_t> lengths = {8192, 40000};
#else
    const std::vector<std::size_t> lengths = {8192, 20001, 40000, 150000};
#endif
    for (const auto& [size, cores] : {std::pair{2, 0}, {3, 0}, {3, 1}}) {
        const auto all = problems_of_all(size, lengths);
        EXPECT_EQ(on_threads(size, false, [&](Group& g) { return mixed(g, all, long_calls, 24); }, 0, cores), "") << size << " ranks";
    }
}

// The root has the later areas, its readers the first ones: it must not be as far ahead as with its own.
TEST(Concurrent, PutsStagedAtTheirReaderHaveItsFirstAreas) {
    const Algorithm &allgather = *find_algorithm(Operation::allgather, "all-read-all"), &scatterv = *find_algorithm(Operation::scatterv, "root-writes-all");
    EXPECT_EQ(on_threads(3, false, [&](Group& g) {
        const auto all_at_once = [&](const Algorithm& a, Problem p, int times) {
            std::deque<Operands> all;
            p.rank = g.rank();
            for (int call = 0; call < times; ++call) {
                Operands& u = all.emplace_back();
                u.problem = p;
                u.plan = plan_of(g, a, p);
                u.data = data_of(p, call);
                g.start(u.run, u.plan, u.data.in.data(), u.data.out.data(), nullptr);
            }
            while (g.advance()) std::this_thread::yield();
            for (const Operands& u : all)
                if (std::string wrong = check(u); !wrong.empty()) return wrong;
            return std::string();
        };
        const Problem long_one = problems(allgather, 3, {8192}).front();
        if (std::string wrong = all_at_once(allgather, long_one, 100); !wrong.empty()) return wrong;
        if (g.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return all_at_once(scatterv, problems(scatterv, 3, {1000}).at(1), 16);  // from rank 1
    }), "");
}

#ifndef __SANITIZE_THREAD__
// Several communicators of 128 ranks, each rank at another place in each, with operations in flight in all of them.
TEST(Concurrent, SeveralGroupsOf128) {
    constexpr int size = 128, groups_at_once = 3, rounds = 3;
    std::vector<std::unique_ptr<Aligned>> segments;
    std::vector<std::vector<std::unique_ptr<Group>>> groups(groups_at_once);
    for (auto& some : groups) {
        segments.push_back(std::make_unique<Aligned>(Group::segment_bytes(size)));
        for (int r = 0; r < size; ++r)
            some.push_back(std::make_unique<Group>(std::span(segments.back()->base, segments.back()->size), r, size, false, Waiter::Hooks{}, size, 1));
    }
    const auto body = [&](int thread) -> std::string {
        Random own{static_cast<unsigned>(thread) * 7919 + 1};
        std::vector<Group*> mine;
        for (int g = 0; g < groups_at_once; ++g) mine.push_back(groups[static_cast<std::size_t>(g)][static_cast<std::size_t>((thread * (2 * g + 1) + g) % size)].get());
        for (int round = 0; round < rounds; ++round) {
            std::deque<Operands> all;
            for (const char* name : {"allreduce:recursive-doubling", "alltoall:pairwise", "bcast:binomial", "allgather:bruck"})
                for (Group* group : mine) {
                    const std::string text(name);
                    const auto colon = text.find(':');
                    const Algorithm& a = *find_algorithm(operation_from(text.substr(0, colon)), text.substr(colon + 1));
                    Operands& u = all.emplace_back();
                    u.problem.operation = a.operation;
                    u.problem.rank = group->rank();
                    u.problem.size = size;
                    u.problem.root = has_root(a.operation) ? round * 50 : 0;
                    u.problem.bytes = round == 1 ? 320 : 8;
                    u.problem.element = 8;
                    u.combiner = sum_combiner();
                    u.plan = group->plan(a, u.problem);
                    u.data = data_of(u.problem, round);
                    group->start(u.run, u.plan, u.data.in.data(), u.data.out.data(), reduces(a.operation) ? &u.combiner : nullptr);
                }
            for (bool more = true; more;) {
                more = false;
                const unsigned first = own(groups_at_once);
                for (unsigned g = 0; g < groups_at_once; ++g) more |= mine[(first + g) % groups_at_once]->advance();
                std::this_thread::yield();
            }
            for (const Operands& u : all)
                if (std::string wrong = check(u); !wrong.empty()) return wrong;
        }
        return {};
    };
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> threads;
    for (int t = 0; t < size; ++t)
        threads.emplace_back([&, t] {
            if (const std::string w = body(t); !w.empty()) {
                const std::lock_guard lock(mutex);
                wrong = w;
            }
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, "");
}
#endif

// Ranks on nodes: cells between the ranks of one, messages between the others.
std::string mixed_on_nodes(const char* text, bool single_copy, std::size_t at_once) {
    const Topology topology = Topology::from(text, Topology::places(text));
    const Domains& nodes = topology.level(0);
    const auto all = problems_of_all(nodes.ranks(), lengths);
    PostOffice office;
    std::vector<std::unique_ptr<Aligned>> segments;
    std::vector<std::unique_ptr<Group>> groups;
    for (int n = 0; n < nodes.count(); ++n)
        segments.push_back(std::make_unique<Aligned>(Group::segment_bytes(static_cast<int>(nodes.members(n).size()))));
    for (int r = 0; r < nodes.ranks(); ++r) {
        const Aligned& segment = *segments[static_cast<std::size_t>(nodes.of(r))];
        const auto size = static_cast<int>(nodes.members(nodes.of(r)).size());
        groups.push_back(std::make_unique<Group>(std::span(segment.base, segment.size), nodes.local(r), size, single_copy, Waiter::Hooks{}, 1, 1));
        groups.back()->reach_by(Transport::message, std::make_shared<Letters>(office, r));
    }
    std::mutex mutex;
    std::string wrong;
    const auto body = [&](int r) {
        Group& group = *groups[static_cast<std::size_t>(r)];
        const std::string w = mixed(group, r, all, calls, at_once, [&](const Algorithm& a, Problem p) {
            using enum Operation;
            const bool blind = !lengths_first(a) && (a.operation == gatherv || a.operation == scatterv || a.operation == alltoallv);
            if (blind || family_of(a.operation) == Family::neighbors)
                throw std::invalid_argument("nobody knows all lengths");
            p.topology = topology;
            return plan_of(group, a, p, {.nodes = &nodes, .single_copy = single_copy});
        });
        const std::scoped_lock lock(mutex);
        if (wrong.empty()) wrong = w;
    };
    std::vector<std::thread> threads;
    for (int r = 0; r < nodes.ranks(); ++r) threads.emplace_back(body, r);
    for (auto& t : threads) t.join();
    return wrong;
}

TEST(Concurrent, ManyAtOnceOverMessages) {
    for (const char* nodes : {"2x1", "2x2", "1+3:cyclic"})
        for (const bool single_copy : {false, true}) EXPECT_EQ(mixed_on_nodes(nodes, single_copy, 70), "") << nodes;
}

TEST(Concurrent, OneAtATime) {
    const auto all = problems_of_all(3, lengths);
    EXPECT_EQ(on_threads(3, true, [&](Group& g) { return mixed(g, all, calls, 0); }), "");
}

// An operation ends while another one that was started before it cannot.
TEST(Concurrent, ALaterOneEndsFirst) {
    const Algorithm& bcast = *find_algorithm(Operation::bcast, "one-to-all");
    EXPECT_EQ(on_threads(2, false, [&](Group& g) {
        Problem p;
        p.operation = Operation::bcast;
        p.size = 2;
        p.rank = g.rank();
        p.bytes = 8;
        const Plan from_0 = g.plan(bcast, p);
        p.root = 1;
        const Plan from_1 = g.plan(bcast, p);
        std::uint64_t a = g.rank() == 0 ? 5 : 0, b = g.rank() == 1 ? 7 : 0;
        fanlight::Run first, second;
        if (g.rank() == 0) {
            g.start(first, from_1, &b, &b, nullptr);
            g.start(second, from_0, &a, &a, nullptr);
            g.advance();  // nobody has started the first, and the second needs nobody
            if (first.finished || !second.finished || a != 5) return std::string("the second does not end first");
            while (g.advance()) std::this_thread::yield();
            return std::string(b == 7 ? "" : "wrong");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        g.start(first, from_1, &b, &b, nullptr);
        g.start(second, from_0, &a, &a, nullptr);
        while (g.advance()) std::this_thread::yield();
        return std::string(a == 5 && b == 7 ? "" : "wrong");
    }), "");
}

// A rank that does not look for a while gives its part nevertheless, also after the thread that
// looks in its place has gone to sleep.
TEST(Concurrent, AnotherThreadGivesARanksPart) {
    const Algorithm& allreduce = *find_algorithm(Operation::allreduce, "recursive-doubling");
    std::atomic<bool> ended{false};
    EXPECT_EQ(on_threads(4, false, [&](Group& g) {
        Problem p;
        p.operation = Operation::allreduce;
        p.size = 4;
        p.rank = g.rank();
        p.bytes = p.element = 8;
        const Plan plan = g.plan(allreduce, p);
        const Combiner sum = sum_combiner();
        fanlight::OperationsInFlight in_flight;
        if (!in_flight.has_helper()) return std::string("no thread");
        for (std::uint64_t call = 0; call < 3; ++call) {
            if (call == 2) std::this_thread::sleep_for(std::chrono::milliseconds(250));
            std::uint64_t in = call + static_cast<std::uint64_t>(g.rank()), out = 0;
            fanlight::Run run;
            in_flight.start(g, run, plan, &in, &out, &sum);
            if (g.rank() == 1)
                while (!ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            while (in_flight.poll() != &run) std::this_thread::yield();
            if (g.rank() == 3) ended = true;
            if (out != 4 * call + 6) return std::string("wrong");
            std::uint64_t none = 0;  // all are through before the next one
            fanlight::Run last;
            in_flight.start(g, last, plan, &none, &out, &sum);
            while (in_flight.poll() != &last) std::this_thread::yield();
            if (g.rank() == 3) ended = false;
        }
        return std::string();
    }), "");
}

// That thread is woken to end; otherwise this test hangs.
TEST(Concurrent, ThatThreadEndsOutOfItsSleep) {
    fanlight::OperationsInFlight in_flight;
    ASSERT_TRUE(in_flight.has_helper());
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
}

}  // namespace
}  // namespace fanlight::testing

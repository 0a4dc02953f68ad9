// Groups that get memory for one plan, as persistent operations' do: lines for those alone who exchange puts.
#include <gtest/gtest.h>

#include <barrier>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "catalogue.h"
#include "execute/called.h"
#include "select/select.h"
#include "on_threads.h"

namespace fanlight::testing {
namespace {

using Extent = SharedSlots::Extent;

// What the members of such a group do together, being threads.
class Members {
public:
    Members(int size, bool single_copy) : size_(size), barrier_(size), extents_(static_cast<std::size_t>(size)) {
        for (int r = 0; r < size; ++r)
            groups_.push_back(std::make_unique<Group>(std::span<std::byte>(), r, size, single_copy, Waiter::Hooks{}, 0, 0, SharedSlots::Capacity::one));
    }
    Group& group(int rank) { return *groups_[static_cast<std::size_t>(rank)]; }
    std::size_t times_placed() const { return segments_.size(); }
    void meet() { barrier_.arrive_and_wait(); }

    // As collective/activation.cpp does.
    void give_memory(Group& g, Plan& plan) {
        extents_[static_cast<std::size_t>(g.rank())] = extent_of(plan);
        meet();
        Extent most = g.extent();  // more than it has, and no less
        for (const Extent& e : extents_) most = {std::max(most.peers, std::min(e.peers, size_)), std::max(most.offers, e.offers)};
        const bool has_room = g.extent().holds(most);
        meet();
        if (!has_room) {
            if (g.rank() == 0) segments_.push_back(std::make_unique<Aligned>(g.layout(most).bytes()));
            meet();
            g.place({segments_.back()->base, segments_.back()->size}, most);
        }
        g.introduce(plan);
        meet();
        g.connect(plan);
    }

    // Runs it on all of them; returns the first complaint.
    template <class Body>
    std::string run(Body body) {
        std::string wrong;
        std::mutex mutex;
        std::vector<std::thread> threads;
        for (int r = 0; r < size_; ++r)
            threads.emplace_back([&, r] {
                const std::string w = body(group(r));
                const std::lock_guard lock(mutex);
                if (wrong.empty()) wrong = w;
            });
        for (std::thread& t : threads) t.join();
        return wrong;
    }

private:
    const int size_;
    std::barrier<> barrier_;
    std::vector<Extent> extents_;
    std::vector<std::unique_ptr<Group>> groups_;
    std::vector<std::unique_ptr<Aligned>> segments_;
};

// One operation after the other in the same group, with the memory of those before where that suffices.  What one member
// finds wrong it says when all are through.
std::string run_each(Members& members, Group& g, const Algorithm& a, const std::vector<Problem>& all) {
    std::string wrong;
    for (const Problem& p : all) {
        for (const bool lent : {false, true}) {
            const std::string w = run_and_check(g, a, p, 2, nullptr, lent, [&](Plan& plan) { members.give_memory(g, plan); });
            if (wrong.empty()) wrong = w;
            members.meet();  // it is freed
        }
    }
    return wrong;
}

#ifdef __SANITIZE_THREAD__
constexpr int sizes[] = {3};
#else
constexpr int sizes[] = {2, 3, 5, 17};
#endif

TEST(Placed, EveryAlgorithmIsRight) {
    for (const int size : sizes)
        for (const bool single_copy : {false, true}) {
            if (single_copy && size > 8) continue;
            Members members(size, single_copy);
            EXPECT_EQ(members.run([&](Group& g) {
                std::string wrong;
                for (const Algorithm& a : algorithms()) {
                    // Lengths that travel first are bound to a group that has its memory.
                    if (lengths_are_unknown(a.operation)) continue;
                    auto all = problems(a, size, {1, 3001});
                    if (size > 2) std::erase_if(all, [&](const Problem& p) { return (has_root(p.operation) && p.root != size - 1) || p.parameters.piece; });
                    const std::string w = run_each(members, g, a, all);
                    if (wrong.empty()) wrong = w;
                }
                return wrong;
            }), "") << size << " ranks";
            EXPECT_LE(members.times_placed(), static_cast<std::size_t>(size + SharedSlots::offers_per_operation));
        }
}

// Whoever starts another operation than the others is told so before any has begun.
TEST(Placed, DifferentOperationsAreFound) {
    Members members(3, false);
    EXPECT_EQ(members.run([&](Group& g) {
        Problem p{.operation = g.rank() == 1 ? Operation::allgather : Operation::bcast};
        p.size = 3;
        p.rank = g.rank();
        p.bytes = 100;
        Plan plan = g.plan(*find_algorithm(p.operation, g.rank() == 1 ? "ring" : "binomial"), p);
        try {
            members.give_memory(g, plan);
            return std::string("no error");
        } catch (const MismatchedCollectives& e) {
            const std::string said = e.what();
            return said.find(" call") == said.npos && said.find("takes no part") == said.npos ? said : std::string();
        }
    }), "");
}

// An allgather of blocks of so many bytes.
Plan plan_for(const Group& g, std::size_t bytes) {
    return g.plan(*find_algorithm(Operation::allgather, "all-read-all"), {.operation = Operation::allgather, .rank = g.rank(), .size = g.size(), .bytes = bytes});
}

// A plan that was kept while others had the memory is not run there.
TEST(Placed, NoPlanRunsInMemoryThatIsAnothers) {
    Members members(2, false);
    EXPECT_EQ(members.run([&](Group& g) {
        const auto runs = [&](Plan& plan) {
            char own[64] = {}, all[128] = {};
            fanlight::Run run;
            try {
                g.start(run, plan, own, all, nullptr);
                while (g.advance()) {}
                return true;
            } catch (const std::logic_error&) {
                return false;
            }
        };
        Plan first = plan_for(g, 48), second = plan_for(g, 64);
        std::string wrong;
        if (runs(first)) wrong = "without memory";
        members.meet();
        members.give_memory(g, first);
        if (!runs(first)) wrong = "with memory";
        members.meet();
        members.give_memory(g, second);
        if (runs(first)) wrong = "in memory that the second has";
        members.meet();
        if (!runs(second)) wrong = "the second";
        return wrong;
    }), "");
}

// What was to be called next is forgotten with an operation that is freed before it was ever started, also where the next one's plan is made
// later.
TEST(Placed, WhatWasNeverStartedIsNoMismatch) {
    Members members(2, false);
    EXPECT_EQ(members.run([&](Group& g) {
        Plan freed = plan_for(g, 48), none;
        members.give_memory(g, none);
        members.give_memory(g, freed);
        members.give_memory(g, none);
        const Plan plan = plan_for(g, 64);
        char own[64] = {}, all[128] = {};
        fanlight::Run run;
        if (g.rank() == 1) members.meet();
        g.start(run, plan, own, all, nullptr);
        g.advance();
        g.compare_in_flight();
        const std::string wrong = g.why_mismatched();
        if (g.rank() == 0) members.meet();
        while (wrong.empty() && g.advance()) {}
        return wrong;
    }), "");
}

// Beside the staging: not more than 1 MiB a node, but where one rank, or each, exchanges puts with all others.
TEST(Placed, WhatTheRulesChooseTakes) {
    const Selector rules("", "");
    for (const int size : {128, 512}) {
        std::size_t most = 0;
        for (int o = 0; o < static_cast<int>(operation_count()); ++o)
            for (const std::size_t bytes : {8, 1 << 10, 16 << 10, 1 << 20}) {
                Problem p{.operation = static_cast<Operation>(o)};
                if (family_of(p.operation) == Family::blocks_v || family_of(p.operation) == Family::neighbors) continue;
                p.size = size;
                p.bytes = bytes;
                p.element = 8;
                const Choice choice = rules.choose({.operation = p.operation, .bytes = bytes, .ranks = size, .single_copy = true, .topology = {}, .mpi = {}});
                if (!choice.algorithm) continue;
                p.parameters = choice.parameters;
                Extent extent{0, 0};
                for (const int r : {0, 1, 2, size / 2, size - 1}) {
                    p.rank = r;
                    const Group group(std::span<std::byte>(), r, size, true, Waiter::Hooks{}, size, size, SharedSlots::Capacity::one);
                    const Extent own = extent_of(group.plan(*choice.algorithm, p));
                    extent = {std::max(extent.peers, own.peers), std::max(extent.offers, own.offers)};
                }
                if (extent.peers == size - 1) {
                    EXPECT_TRUE(p.operation == Operation::alltoall || p.operation == Operation::gather) << to_string(p.operation);
                    continue;
                }
                const SharedSlots slots(nullptr, size, SharedSlots::Capacity::one, extent);
                const std::size_t beside = slots.bytes() - static_cast<std::size_t>(size) * slots.areas() * slots.staging_bytes();
                if (beside > most)
                    std::printf("%d ranks, %s of %zu bytes (%s): %d peers, %d offers, %zu KiB\n", size, std::string(to_string(p.operation)).c_str(), bytes,
                                std::string(choice.algorithm->name).c_str(), extent.peers, extent.offers, beside >> 10);
                most = std::max(most, beside);
            }
        EXPECT_LE(most, 1u << 20) << size;
    }
}

}  // namespace
}  // namespace fanlight::testing

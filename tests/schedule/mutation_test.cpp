// The verifier against the catalogue: every algorithm's schedules are broken in one place,
// in every place, and the verifier must see each of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/registry.h"
#include "every_algorithm.h"
#include "graphs.h"
#include "samples.h"
#include "schedule/all_ranks.h"
#include "schedule/describe.h"
#include "schedule/verify.h"

namespace fanlight {

namespace {

Problem problem_for(Operation operation, int size) {
    Problem p;
    p.operation = operation;
    p.size = size;
    p.root = has_root(operation) ? size / 2 : 0;
    p.element = 8;
    p.commutative = false;
    // Enough elements for every rank to have a part of a vector that is divided.
    if (family_of(operation) != Family::signal) p.bytes = 8 * 3 * static_cast<std::size_t>(size);
    if (family_of(operation) == Family::neighbors) {
        graphs::set(p, graphs::directed, 8, 8);
    } else if (operation == Operation::alltoallv) {
        std::vector<std::size_t> lengths;
        for (int i = 0; i < size * size; ++i) lengths.push_back(8 * static_cast<std::size_t>(1 + i % 5));
        set_exchange(p, lengths);
    } else if (family_of(operation) == Family::blocks_v) {
        std::size_t offset = 0;
        for (int r = 0; r < size; ++r) {
            p.blocks.push_back({offset, 8 * static_cast<std::size_t>(r + 1)});
            offset += p.blocks.back().bytes;
        }
    }
    return p;
}

class Mutation : public testing::TestWithParam<Algorithm> {
protected:
    // Calls visit(rank, step) for every step of sizes that suit the algorithm.
    template <class Visit>
    void for_each_step(Visit visit) {
        for (int size : {2, 3, 4, 5, 8}) {
            problem = problem_for(GetParam().operation, size);
            problem.commutative = GetParam().has(property::commutative);
            if (!restriction(GetParam(), problem).empty()) continue;
            right = schedules_of_all(GetParam().schedule, problem);
            for (int r = 0; r < size; ++r)
                for (std::size_t i = 0; i < right[static_cast<std::size_t>(r)].steps.size(); ++i)
                    visit(r, i);
        }
    }

    void expect_seen(const std::vector<Schedule>& broken, int rank, std::size_t step,
                     const char* how) const {
        EXPECT_FALSE(verify(broken, problem).empty())
            << problem.size << " ranks, rank " << rank << ": " << how << ": "
            << describe(right[static_cast<std::size_t>(rank)].steps[step]);
    }

    Problem problem;
    std::vector<Schedule> right;
};

// Whether a put's bytes come to scratch that its target never looks at: a broadcast by
// scatter and ring sends parts to ranks that have them, which is what the pruned ring saves.
bool unused(const std::vector<Schedule>& ranks, const Step& put) {
    if (put.kind != StepKind::put || put.to.buffer != Buffer::scratch) return false;
    for (const Step& s : ranks[static_cast<std::size_t>(put.peer)].steps) {
        const bool reads = s.kind == StepKind::put || s.kind == StepKind::offer ||
                           s.kind == StepKind::copy || s.kind == StepKind::combine;
        if (reads && s.from.buffer == Buffer::scratch && s.from.offset < put.to.offset + put.bytes &&
            put.to.offset < s.from.offset + s.bytes)
            return false;
        const bool combined = s.order != Order::overwrite && s.to.buffer == Buffer::scratch;
        if (combined) return false;
    }
    return true;
}

TEST_P(Mutation, a_dropped_step_is_seen) {
    for_each_step([&](int r, std::size_t i) {
        auto broken = right;
        Schedule& s = broken[static_cast<std::size_t>(r)];
        const bool offer = s.steps[i].kind == StepKind::offer;
        samples::erase(s, i);
        if (offer) {
            --s.offers;  // else the number alone would show it
            int n = 0;
            for (Step& later : s.steps)
                if (later.kind == StepKind::offer) later.offer = n++;
        }
        expect_seen(broken, r, i, "dropped");
    });
}

TEST_P(Mutation, a_moved_source_is_seen) {
    for_each_step([&](int r, std::size_t i) {
        auto broken = right;
        Step& s = broken[static_cast<std::size_t>(r)].steps[i];
        if (s.bytes == 0 || s.kind == StepKind::arrive || unused(right, s)) return;
        s.from.offset += 8;
        expect_seen(broken, r, i, "reads one element further on");
    });
}

TEST_P(Mutation, a_moved_target_is_seen) {
    for_each_step([&](int r, std::size_t i) {
        auto broken = right;
        Step& s = broken[static_cast<std::size_t>(r)].steps[i];
        if (s.bytes == 0 || s.kind == StepKind::offer || s.to.buffer == Buffer::unknown) return;
        s.to.offset += 8;
        expect_seen(broken, r, i, "writes one element further on");
    });
}

TEST_P(Mutation, another_order_is_seen) {
    for_each_step([&](int r, std::size_t i) {
        if (problem.commutative) return;
        auto broken = right;
        Step& s = broken[static_cast<std::size_t>(r)].steps[i];
        if (s.order == Order::overwrite || s.bytes == 0) return;
        s.order = s.order == Order::before ? Order::after : Order::before;
        expect_seen(broken, r, i, "combines on the other side");
    });
}

TEST_P(Mutation, an_overwrite_in_place_of_a_combine_is_seen) {
    for_each_step([&](int r, std::size_t i) {
        auto broken = right;
        Step& s = broken[static_cast<std::size_t>(r)].steps[i];
        if (s.order == Order::overwrite || s.bytes == 0) return;
        if (s.kind == StepKind::combine) s.kind = StepKind::copy;
        s.order = Order::overwrite;
        expect_seen(broken, r, i, "overwrites");
    });
}

INSTANTIATE_TEST_SUITE_P(every, Mutation,
                         testing::ValuesIn(algorithms().begin(), algorithms().end()), test_name);

}  // namespace
}  // namespace fanlight

// Correct schedules pass.
#include <gtest/gtest.h>

#include "samples.h"
#include "schedule/builder.h"
#include "schedule/verify.h"

namespace fanlight {
namespace {

void expect_right(const samples::Sample& sample) {
    const auto faults = verify(sample.ranks, sample.problem, {.calls = 3});
    EXPECT_TRUE(faults.empty()) << faults[0];
}

TEST(verify, accepts_correct_schedules) {
    for (int size = 1; size <= 9; ++size)
        for (std::size_t bytes : {0, 8, 40}) {
            SCOPED_TRACE(std::to_string(size) + " ranks, " + std::to_string(bytes) + " bytes");
            expect_right(samples::chain_broadcast(size, bytes));
            expect_right(samples::offered_allgather(size, bytes));
            expect_right(samples::linear_reduce(size, bytes, 8));
            expect_right(samples::linear_allreduce(size, bytes, 8));
            expect_right(samples::direct_alltoall(size, bytes));
            expect_right(samples::direct_alltoallv(size));
            expect_right(samples::signal_barrier(size));
        }
    expect_right(samples::slot_broadcast(8));
}

TEST(verify, accepts_blocks_with_gaps) {
    // Two ranks, blocks of 4 bytes 16 bytes apart.
    Problem p = samples::problem_of(Operation::allgather, 2, 4);
    p.stride = 16;
    std::vector<Schedule> ranks;
    for (std::size_t r = 0; r < 2; ++r) {
        Builder b(p);
        b.copy(input(), output(16 * r), 4);
        b.put(1 - static_cast<int>(r), input(), output(16 * r), 4);
        b.arrive(1 - static_cast<int>(r), output(16 * (1 - r)), 4);
        ranks.push_back(b.finish());
    }
    EXPECT_EQ(verify(ranks, p), std::vector<std::string>{});
}

TEST(verify, any_order_will_do_if_the_operator_commutes) {
    auto sample = samples::linear_reduce(4, 8, 8);
    for (Step& s : sample.ranks[0].steps)
        if (s.kind == StepKind::arrive) s.order = Order::before;
    EXPECT_FALSE(verify(sample.ranks, sample.problem).empty());
    sample.problem.commutative = true;
    EXPECT_EQ(verify(sample.ranks, sample.problem), std::vector<std::string>{});
}

TEST(verify, two_ranks_that_put_before_they_arrive_need_a_transport_that_buffers) {
    const Problem p = samples::problem_of(Operation::allgather, 2, 8);
    std::vector<Schedule> ranks;
    for (std::size_t r = 0; r < 2; ++r) {
        Builder b(p);
        b.copy(input(), output(8 * r), 8);
        b.put(1 - static_cast<int>(r), input(), output(8 * r), 8);
        b.next_round();
        b.arrive(1 - static_cast<int>(r), output(8 * (1 - r)), 8);
        ranks.push_back(b.finish());
    }
    EXPECT_EQ(verify(ranks, p, {.puts = Puts::one_ahead}), std::vector<std::string>{});
    const auto faults = verify(ranks, p);
    ASSERT_FALSE(faults.empty());
    EXPECT_NE(faults[0].find("deadlock"), std::string::npos) << faults[0];
}

TEST(verify, says_when_there_are_too_few_schedules) {
    auto sample = samples::signal_barrier(3);
    sample.ranks.pop_back();
    EXPECT_EQ(verify(sample.ranks, sample.problem),
              std::vector<std::string>{"there are 2 schedules for 3 ranks"});
}

}  // namespace
}  // namespace fanlight

// allgatherv_any: what a schedule is may not depend on lengths that no rank knows when it is made.
#include <gtest/gtest.h>

#include <vector>

#include "algorithms/registry.h"
#include "schedule/all_ranks.h"
#include "schedule/count.h"
#include "schedule/describe.h"

namespace fanlight {
namespace {

Problem problem_with(int size, const std::vector<std::size_t>& lengths) {
    Problem p;
    p.operation = Operation::allgatherv_any;
    p.size = size;
    for (const std::size_t bytes : lengths) p.blocks.push_back({0, bytes});
    lay_side_by_side(p);
    return p;
}

Problem in_blocks(int size) {
    Problem p;
    p.operation = Operation::allgatherv_any;
    p.size = size;
    p.bytes = 1;
    return p;
}

// Every third rank is silent; all but one are; all are.
std::vector<std::vector<std::size_t>> lengths_of(int size) {
    std::vector<std::vector<std::size_t>> result(3, std::vector<std::size_t>(static_cast<std::size_t>(size)));
    for (std::size_t r = 0; r < result[0].size(); ++r) result[0][r] = r % 3 == 1 ? 0 : 5 * r + 1;
    result[1].back() = 100;
    return result;
}

// The schedule in blocks, with these lengths put in.
std::string with_lengths(Step s, int rank, const Problem& p) {
    const auto start = [&](std::size_t r) {
        return r < p.blocks.size() ? p.blocks[r].offset : p.blocks.back().offset + p.blocks.back().bytes;
    };
    const auto own = static_cast<std::size_t>(s.kind == StepKind::get ? s.peer : rank);
    const bool from_input = s.kind != StepKind::arrive && s.from.buffer == Buffer::input;
    const std::size_t first = from_input ? own : s.kind == StepKind::arrive ? s.to.offset : s.from.offset;
    s.bytes = start(first + s.bytes) - start(first);
    for (Address* a : {&s.from, &s.to})
        if (a->buffer == Buffer::output) a->offset = start(a->offset);
    return describe(s);
}

TEST(unknown_lengths, a_schedule_depends_on_them_in_bytes_and_offsets_alone) {
    for (const Algorithm& a : algorithms()) {
        if (a.operation != Operation::allgatherv_any) continue;
        for (int size = 1; size <= 64; ++size) {
            const auto blocks = schedules_of_all(a.schedule, in_blocks(size));
            for (const auto& lengths : lengths_of(size)) {
                const Problem p = problem_with(size, lengths);
                const auto bytes = schedules_of_all(a.schedule, p);
                for (int r = 0; r < size; ++r) {
                    const Schedule& in_blocks = blocks[static_cast<std::size_t>(r)];
                    const Schedule& in_bytes = bytes[static_cast<std::size_t>(r)];
                    ASSERT_EQ(in_blocks.round_ends, in_bytes.round_ends) << a.name;
                    for (std::size_t i = 0; i < in_bytes.steps.size(); ++i)
                        ASSERT_EQ(with_lengths(in_blocks.steps[i], r, p), describe(in_bytes.steps[i]))
                            << a.name << ", rank " << r << " of " << size;
                }
            }
        }
    }
}

// Counts first and then an allgatherv are twice as many messages.
TEST(unknown_lengths, who_is_silent_costs_signals_alone) {
    for (const Algorithm& a : algorithms()) {
        if (a.operation != Operation::allgatherv_any) continue;
        for (int size : {2, 3, 4, 7, 8, 16, 33, 64}) {
            const Counts full = count(schedules_of_all(a.schedule, in_blocks(size)));
            const auto lengths = lengths_of(size);
            const Counts one = count(schedules_of_all(a.schedule, problem_with(size, lengths[1])));
            const Counts none = count(schedules_of_all(a.schedule, problem_with(size, lengths[2])));
            EXPECT_EQ(full.all.signals, 0u);
            EXPECT_EQ(one.all.messages + one.all.signals, full.all.messages) << a.name << ", " << size << " ranks";
            // Each of the others gets it once.
            EXPECT_EQ(one.all.messages, static_cast<std::size_t>(size - 1)) << a.name << ", " << size << " ranks";
            EXPECT_EQ(one.all.bytes, 100 * one.all.messages);
            EXPECT_EQ(none.all.messages, 0u);
            EXPECT_EQ(none.all.signals, full.all.messages);
        }
    }
}

}  // namespace
}  // namespace fanlight

// An algorithm that was read from a file is bound as the built-in one with the same schedule is: the same pieces, and in
// them the same steps.  From then on nothing tells the two apart, and they take the same time.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/plan_files.h"
#include "on_threads.h"
#include "schedule/saved_plan.h"

namespace fanlight::testing {
namespace {

constexpr int size = 4;

const Algorithm& binomial_from_a_file() {
    const auto file = std::filesystem::temp_directory_path() / ("fanlight-test-" + std::to_string(getpid()) + ".plan");
    std::ofstream(file) << SavedPlan::with_hash("operation bcast\nranks 4 any-root\n"
                                                ": put 2 in out n ; put 1 in out n ; copy in out n\n"
                                                ": arrive 0 out n\n"
                                                ": arrive 0 out n | put 3 out out n\n"
                                                ": arrive 2 out n\n");
    const Algorithm& read = algorithm_of_file(Operation::bcast, file.string());
    std::filesystem::remove(file);
    return read;
}

auto fields(const BoundStep& s) {
    return std::tuple(s.kind, s.order, s.from_buffer, s.to_buffer, s.acknowledged, s.peer, s.message, s.tag, s.from, s.to, s.bytes, s.cell, s.staging, s.channel);
}

TEST(saved_plans, are_bound_as_the_built_in_ones) {
    const Algorithm& own = binomial_from_a_file();
    const Algorithm& built_in = *find_algorithm(Operation::bcast, "binomial");
    EXPECT_EQ(find_algorithm(Operation::bcast, own.name), &own);
    std::size_t cut = 0;
    for (const bool copied_once : {false, true})
        for (const int cores : {1, size}) {
            Aligned segment((Group::segment_bytes(size) + 4095) / 4096 * 4096);
            for (int rank = 0; rank < size; ++rank) {
                const Group group(std::span(segment.base, segment.size), rank, size, copied_once, Waiter::Hooks{}, size, cores, SharedSlots::Capacity::many, {});
                for (const std::size_t bytes : {1, 100, 4096, 40'000, 65536, 100'000, 300'000, 5'000'000}) {
                    Problem problem{.operation = Operation::bcast, .rank = rank, .size = size, .bytes = bytes};
                    const Plan theirs = group.plan(built_in, problem);
                    problem.parameters.plan = own.plan;
                    const Plan ours = group.plan(own, problem);
                    SCOPED_TRACE(std::to_string(bytes) + " bytes at rank " + std::to_string(rank));
                    EXPECT_EQ(ours.piece_bytes, theirs.piece_bytes);
                    ASSERT_EQ(ours.parts.size(), theirs.parts.size());
                    cut += ours.parts.size() - 1;
                    for (std::size_t i = 0; i < ours.parts.size(); ++i) {
                        const Plan::Part &a = ours.parts[i], &b = theirs.parts[i];
                        EXPECT_EQ(a.repeat, b.repeat);
                        EXPECT_EQ(a.schedule.uses_all_areas, b.schedule.uses_all_areas);
                        ASSERT_EQ(a.schedule.steps.size(), b.schedule.steps.size());
                        for (std::size_t k = 0; k < a.schedule.steps.size(); ++k) EXPECT_EQ(fields(a.schedule.steps[k]), fields(b.schedule.steps[k]));
                    }
                }
            }
        }
    EXPECT_GT(cut, 0u);
}

}  // namespace
}  // namespace fanlight::testing

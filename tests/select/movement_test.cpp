// How often the long reductions that the built-in rules choose for a node read each operand.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule/all_ranks.h"
#include "select/select.h"

namespace fanlight {
namespace {

// The bytes of each rank's input that steps of any rank take from there, and those of its results that are combined.
struct Movement {
    std::vector<std::size_t> read, combined;
};

Movement movement(const std::vector<Schedule>& all) {
    Movement m{std::vector<std::size_t>(all.size()), std::vector<std::size_t>(all.size())};
    for (std::size_t r = 0; r < all.size(); ++r)
        for (const Step& s : all[r].steps) {
            // An offer is read by its readers' gets.
            if (s.kind != StepKind::offer && s.kind != StepKind::arrive && s.from.buffer == Buffer::input)
                m.read[s.kind == StepKind::get ? static_cast<std::size_t>(s.peer) : r] += s.bytes;
            if (s.order != Order::overwrite) m.combined[r] += s.bytes;
        }
    return m;
}

TEST(Movement, LongReductionsReadEachOperandOnce) {
    const Selector rules("", "");
    constexpr std::size_t bytes = 1 << 20;
    int reductions = 0;
    for (const auto& [ranks, topology] : {std::pair{3, ""}, {4, ""}, {8, ""}, {16, "2x8"}, {33, ""}, {64, "8x8"}, {66, "2x3x11"}, {96, "2x6x8"}, {128, "2x16x4"}})
        for (const Operation o : {Operation::allreduce, Operation::reduce, Operation::reduce_scatter_block, Operation::reduce_scatter})
            for (const bool single_copy : {false, true}) {
                Situation s;
                s.operation = o;
                s.bytes = bytes;
                s.ranks = ranks;
                s.single_copy = single_copy;
                Problem p;
                p.operation = o;
                p.size = ranks;
                p.element = 8;
                if (*topology) p.topology = s.topology = Topology::from(topology, ranks);
                const bool is_vector = family_of(o) == Family::vector;
                if (o == Operation::reduce_scatter) p.blocks.assign(static_cast<std::size_t>(ranks), {0, bytes});
                else p.bytes = bytes;
                lay_side_by_side(p);
                const Choice choice = rules.choose(s);
                ASSERT_NE(choice.algorithm, nullptr);
                p.parameters = choice.parameters;
                const std::string text = std::string(to_string(o)) + " by " + std::string(choice.algorithm->name) + " on " + std::to_string(ranks) + " ranks " + topology;
                const std::size_t operand = bytes * static_cast<std::size_t>(is_vector ? 1 : ranks);
                const Movement m = movement(schedules_of_all(choice.algorithm->schedule, p));
                std::size_t combined = 0;
                for (std::size_t r = 0; r < m.read.size(); ++r) {
                    EXPECT_EQ(m.read[r], operand) << text << ", rank " << r;
                    combined += m.combined[r];
                }
                EXPECT_EQ(combined, operand * static_cast<std::size_t>(ranks - 1)) << text;
                ++reductions;
            }
    EXPECT_EQ(reductions, 9 * 4 * 2);
}

}  // namespace
}  // namespace fanlight

// How much of the group's memory an operation needs at most, which the planner learns from a few ranks or from what a
// schedule says of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "algorithms/registry.h"
#include "execute/copy.h"
#include "execute/group.h"
#include "execute/plan.h"
#include "on_threads.h"
#include "schedule/all_ranks.h"
#include "schedule/builder.h"
#include "schedule/composer.h"
#include "schedule/schedule.h"
#include "transport/shared.h"

namespace fanlight {
namespace {

Problem problem(const Algorithm& a, int size, std::size_t bytes, int root) {
    Problem p;
    p.operation = a.operation;
    p.size = size;
    p.bytes = bytes;
    p.element = 8;
    p.root = has_root(a.operation) ? root : 0;
    std::size_t at = 0;
    for (int r = 0; family_of(a.operation) == Family::blocks_v && r < size; ++r) {
        p.blocks.push_back({at, bytes * static_cast<std::size_t>((r + 2) * 5 % 7 + (bytes > 1000)) / 4 / 8 * 8});  // the short ones with some that are empty
        at += p.blocks.back().bytes;
    }
    return p;
}

std::string text(const Algorithm& a, const Problem& p) {
    return std::string(to_string(a.operation)) + " " + std::string(a.name) + ", " + std::to_string(p.size) + " ranks, root " + std::to_string(p.root) + ", " +
           std::to_string(p.bytes) + " bytes, " + p.topology.text();
}

// The first rank that needs more than the neediest.
std::string needier(const Algorithm& a) {
    for (const int size : {33, 34, 37, 47, 48, 63, 64, 65, 100, 129})
        // Also where parts differ by an element, on either side of the staging, or of what is copied once.
        for (const std::size_t bytes : {std::size_t{200}, std::size_t{5000}, std::size_t{10000}, std::size_t{12360}, std::size_t{100000}, static_cast<std::size_t>(size) * ((16 << 10) - 1) + 20})
            for (const int root : {0, 1, size / 2, size - 1})
                for (const auto& [single_copy, degree] : {std::pair{false, 0}, {true, 0}, {false, 3}, {true, 7}}) {
                    Problem p = problem(a, size, bytes, root);
                    p.parameters.degree = degree;
                    if (p.root != root || (degree && !a.takes("degree")) || !restriction(a, p).empty()) continue;
                    const SharedSlots slots(nullptr, size);
                    const BindOptions options{.inlined = slots.payload_bytes(), .single_copy = single_copy, .single_copy_from = 16 << 10};
                    const auto needs = [&](int rank) {
                        p.rank = rank;
                        Schedule s = a.schedule(p);
                        const Needs n = needs_of(s, rank, slots, options);
                        Builder::recycle(std::move(s));
                        return n;
                    };
                    Needs most;
                    for (const int r : neediest(p)) {
                        const Needs n = needs(r);
                        most = {std::max(most.staged, n.staged), std::max(most.longest, n.longest), std::max(most.scratch, n.scratch), std::max(most.offers, n.offers)};
                    }
                    for (int r = 0; r < size; ++r) {
                        const Needs n = needs(r);
                        if (n.staged > most.staged || n.longest > most.longest || n.scratch > most.scratch || n.offers > most.offers)
                            return text(a, p) + ", degree " + std::to_string(degree) + ", rank " + std::to_string(r) + ": staged, longest, scratch, offers " +
                                   ::testing::PrintToString(std::array{n.staged, n.longest, n.scratch, static_cast<std::size_t>(n.offers)}) + " of " +
                                   ::testing::PrintToString(std::array{most.staged, most.longest, most.scratch, static_cast<std::size_t>(most.offers)});
                    }
                }
    return {};
}

TEST(Needs, OfTheAlikeNoRankNeedsMoreThanTheNeediest) {
    int rows = 0;
    for (const Algorithm& a : algorithms()) {
        if (!a.has(property::alike)) continue;
        ++rows;
        EXPECT_EQ(needier(a), "");
    }
    EXPECT_GT(rows, 30);
}

TEST(Needs, BoundsHoldForAllRanks) {
    int exact = 0, alike = 0, composed = 0;
    for (const Algorithm& a : algorithms()) {
        if (lengths_are_unknown(a.operation)) continue;
        for (const int size : {1, 2, 3, 5, 8, 11, 16, 17, 31, 48, 64})
            for (const char* topology : {"", "2x*", "3x*:cyclic", "2x(3+5)", "2x4+3", "2x2x4"})
                for (const std::size_t bytes : {8, 24, 800, 5000, 40000})
                    for (const auto& [root, gap] : {std::pair{0, 0}, {size / 2, 0}, {size - 1, 0}, {0, 64}}) {
                        Problem p = problem(a, size, bytes, root);
                        if (p.root != root || (!a.has(property::levels) && *topology) || (a.has(property::levels) && size > 48)) continue;
                        if (gap && family_of(a.operation) == Family::blocks) p.stride = bytes + 64;
                        try {
                            if (*topology) p.topology = Topology::from(topology, size);
                        } catch (const std::invalid_argument&) {
                            continue;
                        }
                        if (!restriction(a, p).empty()) continue;
                        Bounds most, said;
                        Needs needed;
                        const SharedSlots slots(nullptr, size);
                        const BindOptions options{.inlined = slots.payload_bytes()};
                        for (p.rank = 0; p.rank < size; ++p.rank) {
                            Schedule s = a.schedule(p);
                            Bounds own{.offers = s.offers};
                            for (const Step& step : s.steps)
                                if (step.kind == StepKind::put || step.kind == StepKind::offer) own.add(step.bytes);
                            if (p.rank > 0) {
                                ASSERT_TRUE(said.offers == s.bounds.offers && said.written == s.bounds.written) << text(a, p) << ": ranks say different things";
                            }
                            said = s.bounds;
                            most.raise(own);
                            const Needs needs = needs_of(s, p.rank, slots, options);
                            if (p.rank == 0) needed = needs;
                            if (said.alike) {
                                ASSERT_TRUE(needs.staged == needed.staged && needs.longest == needed.longest && needs.offers == needed.offers) << text(a, p) << ", rank " << p.rank;
                                ++alike;
                            }
                            if (!s.kinds.empty()) {
                                const BoundsOfKind& kind = s.kinds[s.kind_of[static_cast<std::size_t>(p.rank)]];
                                ASSERT_TRUE(kind.all.offers == own.offers && kind.all.written == own.written) << text(a, p) << ", rank " << p.rank;
                                const std::size_t at_most = std::min(kind.all.written.back(), kind.at_one_time.back() * static_cast<std::size_t>(slots.depth()));
                                ASSERT_LE(needs.staged, at_most) << text(a, p) << ", rank " << p.rank;
                                ++composed;
                            }
                            Builder::recycle(std::move(s));
                        }
                        if (!said.known) continue;
                        exact += said.exact;
                        const bool right = said.exact ? said.offers == most.offers && said.written == most.written
                                                      : said.offers >= most.offers && std::ranges::equal(said.written, most.written, std::greater_equal<>());
                        ASSERT_TRUE(right) << text(a, p) << ": said " << said.offers << " offers, bytes " << ::testing::PrintToString(said.written) << "; needed " << most.offers
                                           << ", " << ::testing::PrintToString(most.written);
                    }
    }
    EXPECT_GT(exact, 1000);
    EXPECT_GT(alike, 100);
    EXPECT_GT(composed, 1000);
}

bool are_same(const Step& a, const Step& b) {
    return a.kind == b.kind && a.order == b.order && a.peer == b.peer && a.offer == b.offer && a.from == b.from && a.to == b.to && a.bytes == b.bytes &&
           a.bit == b.bit && a.first_reader == b.first_reader && a.readers == b.readers;
}

bool are_same(const Schedule& a, const Schedule& b) {
    const auto same_kind = [](const BoundsOfKind& x, const BoundsOfKind& y) {
        return x.all.offers == y.all.offers && x.all.written == y.all.written && x.at_one_time == y.at_one_time;
    };
    return std::ranges::equal(a.steps, b.steps, [](const Step& x, const Step& y) { return are_same(x, y); }) && a.round_ends == b.round_ends &&
           a.readers == b.readers && a.scratch_bytes == b.scratch_bytes && a.offers == b.offers && a.bounds.known == b.bounds.known &&
           a.bounds.offers == b.bounds.offers && a.bounds.written == b.bounds.written && a.kind_of == b.kind_of &&
           std::ranges::equal(a.kinds, b.kinds, same_kind);
}

// What parts say of all ranks is found once for all schedules of a problem, and again for the next problem.
TEST(Needs, SchedulesAreTheSameWhereWhatPartsSayIsKept) {
    int compared = 0;
    for (const Algorithm& a : algorithms()) {
        if (!a.has(property::levels)) continue;
        Composer::OfAllRanks kept;
        for (const char* topology : {"3x4", "2x3x2:cyclic", "2x(3+5)", "3x2x3", "2x(1+2)+3x2"})
            for (const std::size_t bytes : {8, 5000, 100000})
                for (const int root : {0, 4}) {
                    Problem whole = problem(a, Topology::places(topology), bytes, root);
                    if (whole.root != root) continue;
                    whole.topology = Topology::from(topology, whole.size);
                    if (a.operation == Operation::alltoallv) {
                        std::vector<std::size_t> lengths;
                        for (std::size_t i = 0; i < static_cast<std::size_t>(whole.size * whole.size); ++i) lengths.push_back(bytes * (i * 5 % 7) / 4);
                        set_exchange(whole, lengths);
                    }
                    if (!restriction(a, whole).empty()) continue;
                    for (int r = 0; r < whole.size; ++r) {
                        const Problem p = problem_at(whole, r);
                        const Schedule with = a.schedule(p);
                        Schedule without;
                        std::thread([&] { without = a.schedule(p); }).join();
                        ASSERT_TRUE(are_same(with, without)) << text(a, p) << ", rank " << r;
                        ++compared;
                    }
                }
    }
    EXPECT_GT(compared, 1000);
}

// A part may itself be composed.
TEST(Needs, WhatIsKeptIsOfTheWholeAlone) {
    const auto twice_in_pairs = [](int rank) {
        const Problem whole{.operation = Operation::bcast, .rank = rank, .size = 4, .bytes = 800};
        Composer both(whole);
        for (int i = 0; i < 2; ++i)
            both.add(
                [](Problem p) {
                    p.topology = Topology::from("2x2", 4);
                    return find_algorithm(Operation::bcast, "by-levels")->schedule(p);
                },
                whole, {{.ranks = {0, 1, 2, 3}}}, Composer::everywhere(input(), output()));
        return both.finish();
    };
    for (int rank = 0; rank < 4; ++rank) {
        const Schedule without = twice_in_pairs(rank);
        Composer::OfAllRanks kept;
        for (int again = 0; again < 2; ++again) EXPECT_TRUE(are_same(twice_in_pairs(rank), without)) << rank;
    }
}

// Where a pair has one cell its puts follow each other: around a ring a rank stages one block, whatever comes by.
TEST(Needs, APairsPutsAreThereOneAtATime) {
    const Algorithm& a = *find_algorithm(Operation::allgather, "multi-lane");
    Problem p = problem(a, 48, 5000, 0);
    p.topology = Topology::from("8x6", 48);
    const SharedSlots slots(nullptr, 48);
    ASSERT_EQ(slots.depth(), 1);
    for (p.rank = 0; p.rank < p.size; ++p.rank) {
        const Schedule s = a.schedule(p);
        const BoundsOfKind& kind = s.kinds[s.kind_of[static_cast<std::size_t>(p.rank)]];
        EXPECT_EQ(kind.at_one_time.back(), needs_of(s, p.rank, slots, {}).staged);
        EXPECT_GT(kind.all.written.back(), kind.at_one_time.back());
    }
}

// How often a schedule is made for a plan.
int schedules_made = 0;
const Algorithm* counted = nullptr;

// What is composed says enough of all ranks: for a plan not more schedules are made than there are lengths of a piece to
// try, for each piece that differs.  Where domains differ in size some algorithms are as of one domain, and not composed.
TEST(Needs, APlanTakesFewSchedules) {
    for (const char* topology : {"8x8x8", "2x4x64", "4x128", "3x(5x20+7x10)+2x(1+30)"})
        for (const Algorithm& a : algorithms()) {
            if (!a.has(property::levels) || lengths_are_unknown(a.operation) || a.name == "locality-bruck") continue;
            if (std::string_view(topology).starts_with("3x(") && (a.name == "multi-lane" || a.operation == Operation::alltoall)) continue;
            for (const std::size_t bytes : {8, 1 << 10, 40 << 10}) {
                Problem p = problem(a, Topology::places(topology), bytes, 0);
                p.topology = Topology::from(topology, p.size);
                p.rank = p.size / 2;
                Algorithm counting = *(counted = &a);
                counting.schedule = [](const Problem& q) { return ++schedules_made, counted->schedule(q); };
                const Group group(std::span<std::byte>(), p.rank, p.size, true, Waiter::Hooks{}, p.size, p.size, SharedSlots::Capacity::one);
                schedules_made = 0;
                try {
                    group.plan(counting, p);
                } catch (const std::invalid_argument&) {
                }
                EXPECT_LE(schedules_made, 60) << text(a, p);
            }
        }
}

// Whether what a root scatters is staged, by ranks of a group that has measured 64 KiB.
bool stages(std::size_t bytes, std::size_t once, int cores) {
    constexpr int size = 4;
    testing::Aligned segment(Group::segment_bytes(size));
    Group group(std::span(segment.base, segment.size), 0, size, true, Waiter::Hooks{}, size, cores);
    group.copy_once_from(64 << 10);
    Plan plan;
    const Algorithm& a = *find_algorithm(Operation::scatter, "all-read-root");
    Problem p = problem(a, size, bytes, 0);
    p.parameters.once = once;
    group.plan(a, p, plan);
    return plan.parts.front().schedule.staged > 0;
}

TEST(Needs, ARuleMaySayFromWhichLengthOnMessagesAreCopiedOnce) {
    EXPECT_TRUE(stages(16 << 10, 0, 4));
    EXPECT_FALSE(stages(16 << 10, 4 << 10, 4));
    EXPECT_TRUE(stages(16 << 10, 32 << 10, 4));
    EXPECT_FALSE(stages(64 << 10, 0, 4));
    EXPECT_FALSE(stages(64 << 10, 128 << 10, 4)) << "it pays from 64 KiB on";
}

TEST(Needs, RanksThatShareCoresCopyOnceOnlyWhereARuleSaysSo) {
    EXPECT_TRUE(stages(64 << 10, 0, 1));
    EXPECT_TRUE(stages(1 << 20, 0, 1));
    EXPECT_FALSE(stages(64 << 10, 32 << 10, 1));
}

// Whether anything is staged in a group of so many ranks, each with a core of its own, that has measured that one copy pays
// from 8 KiB on.
bool stages(Operation operation, const char* algorithm, int size, std::size_t once = 0) {
    testing::Aligned segment(Group::segment_bytes(size));
    Group group(std::span(segment.base, segment.size), 0, size, true, Waiter::Hooks{}, size, size);
    group.copy_once_from(8 << 10);
    const Algorithm& a = *find_algorithm(operation, algorithm);
    Problem p = problem(a, size, 16 << 10, 0);
    p.parameters.once = once;
    return group.plan(a, p).parts.front().schedule.staged > 0;
}

TEST(Needs, WhatSeveralGetIsStaged) {
    for (const auto& [operation, algorithm] : {std::pair(Operation::bcast, "one-to-all"), std::pair(Operation::allreduce, "all-read-all"),
                                               std::pair(Operation::scan, "all-read-lower"), std::pair(Operation::allgather, "all-read-all")}) {
        EXPECT_TRUE(stages(operation, algorithm, 3)) << to_string(operation);
        EXPECT_FALSE(stages(operation, algorithm, 2)) << to_string(operation) << ": only one gets it";
        EXPECT_FALSE(stages(operation, algorithm, 3, 4 << 10)) << to_string(operation) << ": a rule says so";
    }
    EXPECT_TRUE(stages(Operation::bcast, "one-to-all", 32));
    EXPECT_FALSE(stages(Operation::bcast, "one-to-all", 33)) << "these have little room";
    EXPECT_FALSE(stages(Operation::alltoall, "all-write-all", 3));
    EXPECT_FALSE(stages(Operation::reduce_scatter_block, "all-read-all", 3));
}

// How a root of scatterv puts a block of so many bytes to another rank, of a group as above: in how many pieces, and whether
// the last of them is copied once.
std::pair<int, bool> puts(std::size_t bytes, std::size_t once, int cores, std::size_t measured = 64 << 10) {
    constexpr int size = 4;
    testing::Aligned segment(Group::segment_bytes(size));
    Group group(std::span(segment.base, segment.size), 0, size, true, Waiter::Hooks{}, size, cores);
    group.copy_once_from(measured);
    Problem p{.operation = Operation::scatterv, .size = size};
    p.parameters.once = once;
    for (std::size_t r = 0; r < size; ++r) p.blocks.push_back({r * bytes, r == 1 ? bytes : 0});
    const Plan plan = group.plan(*find_algorithm(p.operation, "root-writes-all"), p);
    std::pair<int, bool> found{0, false};
    for (const BoundStep& s : plan.parts.front().schedule.steps)
        if (s.kind == BoundKind::put && s.peer == 1) found = {found.first + 1, s.place == Place::direct};
    return found;
}

TEST(Needs, BlocksOfUnknownLengthsGoInPiecesUpToWhereCopyingOncePays) {
    EXPECT_EQ(puts(100 << 10, 0, 4), std::pair(1, true));
    EXPECT_EQ(puts(32 << 10, 0, 4), std::pair(1, false));
    EXPECT_EQ(puts(200 << 10, 0, 4, 256 << 10), std::pair(4, false));
    EXPECT_EQ(puts(256 << 10, 0, 4, 256 << 10), std::pair(1, true));
    EXPECT_EQ(puts(256 << 10, 0, 1), std::pair(4, false)) << "ranks share cores";
    EXPECT_EQ(puts(40 << 10, 32 << 10, 1), std::pair(1, true));
}

Plan plan_of_two(Operation operation, const char* algorithm, int rank, std::size_t bytes) {
    constexpr int size = 2;
    testing::Aligned segment(Group::segment_bytes(size));
    const Group group(std::span(segment.base, segment.size), rank, size, false, Waiter::Hooks{});
    const Algorithm& a = *find_algorithm(operation, algorithm);
    Problem p = problem(a, size, bytes, 0);
    p.rank = rank;
    return group.plan(a, p);
}

TEST(Needs, WhatStagesMoreThanACacheHoldsMayDoSoInFewPlaces) {
    const std::size_t many = own_cache();
    const auto may = [](Operation operation, const char* algorithm, int rank, std::size_t bytes) { return plan_of_two(operation, algorithm, rank, bytes).ways != nullptr; };
    EXPECT_TRUE(may(Operation::bcast, "one-to-all", 0, many)) << "all pieces count";
    EXPECT_FALSE(may(Operation::bcast, "one-to-all", 0, many - 8));
    EXPECT_FALSE(may(Operation::bcast, "one-to-all", 1, many)) << "who stages nothing";
    EXPECT_TRUE(may(Operation::allgather, "all-read-all", 1, many));
}

TEST(Needs, WhatIsStagedMayTakeTheCopyBehindItAlong) {
    const std::size_t from = 32 << 10;
    const auto may = [](Operation operation, const char* algorithm, int rank, std::size_t bytes) {
        const Plan plan = plan_of_two(operation, algorithm, rank, bytes);
        return plan.ways && plan.second_way == Plan::SecondWay::copies_along;
    };
    EXPECT_TRUE(may(Operation::allgather, "all-read-all", 1, from));
    EXPECT_TRUE(may(Operation::alltoall, "all-write-all", 0, from));
    EXPECT_FALSE(may(Operation::scatter, "root-writes-all", 0, from)) << "its reader would wait";
    EXPECT_FALSE(may(Operation::alltoall, "all-write-all", 0, from - 8));
    EXPECT_FALSE(may(Operation::gather, "root-reads-all", 1, from)) << "its own block is at the root";
    EXPECT_FALSE(may(Operation::bcast, "one-to-all", 0, from)) << "there is nothing to copy";
    EXPECT_FALSE(may(Operation::allgather, "all-read-all", 0, own_cache())) << "in few places";
}

TEST(Needs, TimesOfOtherLengthsSayNothing) {
    testing::Aligned segment(Group::segment_bytes(2));
    const Group group(std::span(segment.base, segment.size), 0, 2, false, Waiter::Hooks{});
    const auto of = [](std::size_t bytes) { return Problem{.operation = Operation::allgatherv, .size = 2, .blocks = {{0, bytes}, {bytes, bytes}}}; };
    Plan plan = group.plan(*find_algorithm(Operation::allgatherv, "all-read-all"), of(64 << 10));
    ASSERT_TRUE(plan.ways);
    ASSERT_TRUE(group.rebind_counts(of(2 << 10), plan));
    EXPECT_FALSE(plan.ways);
}

// Whether what this rank gets goes past the caches.
bool has_long_results(Operation operation, const char* algorithm, int rank, std::size_t bytes) {
    return plan_of_two(operation, algorithm, rank, bytes).parts.front().schedule.has_long_results;
}

TEST(Needs, LongResultsGoPastTheCaches) {
    const std::size_t many = 4 * own_cache();
    EXPECT_TRUE(has_long_results(Operation::alltoall, "all-write-all", 0, many));
    EXPECT_FALSE(has_long_results(Operation::alltoall, "all-write-all", 0, many - 8)) << "a copy of its own block is none";
    EXPECT_TRUE(has_long_results(Operation::gather, "root-reads-all", 0, many));
    EXPECT_FALSE(has_long_results(Operation::gather, "root-reads-all", 1, many)) << "who sends";
    EXPECT_FALSE(has_long_results(Operation::bcast, "one-to-all", 1, 2 * many)) << "it keeps half the cache";
}

// Not a block in more than 64 pieces, which would make the root's plan long.
TEST(Needs, ScatterIsStagedAtItsReaders) {
    const Algorithm& a = *find_algorithm(Operation::scatter, "root-writes-all");
    const auto at_readers = [&](int size, std::size_t bytes, std::size_t piece = 0) {
        Problem p = problem(a, size, bytes, 0);
        p.parameters.piece = piece;
        const Group group(std::span<std::byte>(), 0, size, false, Waiter::Hooks{}, size, size, SharedSlots::Capacity::one);
        return group.plan(a, p).parts.front().schedule.stages_at_reader;
    };
    for (const int size : {3, 4, 16, 32}) EXPECT_TRUE(at_readers(size, 64 << 10)) << size;
    for (const int size : {2, 33}) EXPECT_FALSE(at_readers(size, 64 << 10)) << size;
    EXPECT_TRUE(at_readers(4, 4 << 20));
    EXPECT_FALSE(at_readers(4, 8 << 20));
    EXPECT_FALSE(at_readers(4, 64 << 10, 8 << 10));
}

}  // namespace
}  // namespace fanlight

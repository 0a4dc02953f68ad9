// What runs is what was proved: schedules as the executor has them (their steps in another order, gets and
// combines fused, cut into pieces, with other lengths), told in the language again, go through the verifier.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/lengths.h"
#include "catalogue.h"
#include "on_threads.h"
#include "schedule/all_ranks.h"
#include "schedule/verify.h"
#include "unbound.h"

namespace fanlight::testing {
namespace {

enum class How { staged, copied_once, mapped, oversubscribed, lent };

// The groups of all ranks, in this process; nothing is run.
struct Groups {
    Groups(int size, How how)
        : bytes((Group::segment_bytes(size) + 4095) / 4096 * 4096),
          segment(bytes + (how == How::mapped ? scratch * static_cast<std::size_t>(size) : 0)),
          layout(segment.base, size),
          slots(static_cast<std::size_t>(size), &layout) {
        for (int r = 0; r < size; ++r)
            all.push_back(std::make_unique<Group>(std::span(segment.base, bytes), r, size, how == How::copied_once, Waiter::Hooks{}, how == How::oversubscribed ? 2 : 1, 1,
                                                  SharedSlots::Capacity::many, std::span(segment.base + bytes, segment.size - bytes)));
    }
    static constexpr std::size_t scratch = 1 << 16;
    std::size_t bytes;
    Aligned segment;
    SharedSlots layout;
    std::vector<const SharedSlots*> slots;  // of each rank
    std::vector<std::unique_ptr<Group>> all;
};

std::string text(const Algorithm& a, const Problem& p) {
    return std::string(to_string(a.operation)) + " " + std::string(a.name) + ", " + std::to_string(p.size) + " ranks, root " +
           std::to_string(p.root) + ", " + std::to_string(length_of(p)) + " bytes";
}

// Of each part of the plans one piece, which stands for those that look like it.
std::string proved(const Algorithm& algorithm, const Problem& whole, const std::vector<Plan>& plans, std::span<const SharedSlots* const> slots,
                   const Reach& reach = {}, bool lent = false) {
    std::size_t piece = 0;
    for (std::size_t part = 0; part < plans[0].parts.size(); ++part) {
        std::vector<const BoundSchedule*> bound;
        for (const Plan& plan : plans) {
            if (plan.parts.size() != plans[0].parts.size() || plan.parts[part].repeat != plans[0].parts[part].repeat || !plan.lengths != !plans[0].lengths)
                return text(algorithm, whole) + ": ranks cut it otherwise";
            bound.push_back(plan.lengths && part > 0 ? &plan.lengths->blocks : &plan.parts[part].schedule);
        }
        auto [schedules, faults] = unbound(bound, slots, reach, lent);
        const bool cut = plans[0].parts.size() > 1 || plans[0].parts[0].repeat > 1;
        const bool lengths = plans[0].lengths != nullptr;
        const Problem p = lengths && part == 0 ? lengths_of(algorithm, whole) : cut && !lengths ? piece_of(whole, plans[0].piece_bytes, piece) : whole;
        if (faults.empty()) faults = verify(schedules, p, {.calls = p.size > 16 ? 1 : 2, .puts = Puts::free});
        if (!faults.empty()) return text(algorithm, whole) + ", piece " + std::to_string(piece) + ": " + faults[0];
        piece += plans[0].parts[part].repeat;
    }
    return {};
}

// Those of all ranks; none where the algorithm is refused, as it must be on all ranks alike.
std::vector<Plan> plans_of(const Groups& groups, const Algorithm& algorithm, Problem problem) {
    std::vector<Plan> plans;
    std::size_t refused = 0;
    for (const auto& group : groups.all) {
        problem.rank = group->rank();
        try {
            plans.push_back(plan_of(*group, algorithm, problem));
            hear_lengths(*group, plans.back(), problem);
        } catch (const std::invalid_argument&) {
            ++refused;
        }
    }
    EXPECT_TRUE(refused == 0 || plans.empty()) << text(algorithm, problem) << ": refused by some ranks alone";
    return plans;
}

class Bound : public ::testing::TestWithParam<How> {
protected:
    template <class Body>
    void for_each_algorithm(std::initializer_list<int> sizes, Body&& body) {
        for (const int size : sizes) {
            const Groups groups(size, GetParam());
            for (const Algorithm& algorithm : algorithms()) body(groups, algorithm, size);
        }
    }
    std::size_t number_ = 0;  // of what was proved
};

TEST_P(Bound, TheCatalogue) {
    for_each_algorithm({1, 2, 3, 4, 5, 8, 13, 17, 33}, [&](const Groups& groups, const Algorithm& algorithm, int size) {
        std::vector<std::size_t> elements{0, 3, 300, 2500, 40000};
        if (size > 16) elements = {0, 2500};
        for (const Problem& problem : problems(algorithm, size, elements)) {
            const std::vector<Plan> plans = plans_of(groups, algorithm, problem);
            if (plans.empty()) continue;
            ASSERT_EQ(proved(algorithm, problem, plans, groups.slots, {}, GetParam() == How::lent), "");
            ++number_;
        }
    });
    EXPECT_GT(number_, 6500u);
}

TEST_P(Bound, ManyLevels) {
    for_each_algorithm({16, 32, 36}, [&](const Groups& groups, const Algorithm& algorithm, int size) {
        if (!algorithm.has(property::levels) || (size > 16 && GetParam() != How::copied_once)) return;
        for (const char* levels : {"2x2x4", "2x2x2x2", "2x2x2x2x2", "3x3x4"})
            for (Problem problem : problems(algorithm, size, {3, 2500})) {
                if (problem.root > (size > 32 ? 0 : 1) || Topology::places(levels) != size) continue;
                problem.topology = Topology::from(levels, size);
                // Also long blocks among short ones, which go other ways.
                for (const bool mixed : {false, true}) {
                    if (mixed && !lengths_first(algorithm)) continue;
                    const auto length = [](std::size_t r) { return r % 3 == 0 ? std::size_t{6000} : 300; };
                    if (mixed && algorithm.operation == Operation::alltoallv) {
                        std::vector<std::size_t> lengths;
                        for (std::size_t i = 0; i < problem.blocks.size(); ++i) lengths.push_back(length(i));
                        set_exchange(problem, lengths);
                    } else if (mixed) {
                        for (std::size_t r = 0; r < problem.blocks.size(); ++r) problem.blocks[r].bytes = length(r);
                        lay_side_by_side(problem);
                    }
                    const std::vector<Plan> plans = plans_of(groups, algorithm, problem);
                    ASSERT_FALSE(plans.empty());
                    ASSERT_EQ(proved(algorithm, problem, plans, groups.slots, {}, GetParam() == How::lent), "");
                }
            }
    });
}

// The flags of many are loaded before any is waited for; of few they are not.
TEST(BoundGathers, LoadAllBeforeTheyTestAny) {
    for (const auto& [name, operation] : {std::pair{"all-read-all", Operation::allgather}, {"root-reads-all", Operation::gather}, {"pairwise", Operation::alltoall}})
        for (const int size : {8, 16, 17, 33, 50}) {
            const Groups groups(size, How::staged);
            Problem problem;
            problem.operation = operation;
            problem.size = size;
            problem.bytes = 8;
            problem.element = 8;
            const Plan plan = groups.all[0]->plan(*find_algorithm(operation, name), problem);
            std::size_t loaded = 0, waited = 0, gathers = 0, ahead = 0;
            for (const BoundStep& s : plan.parts[0].schedule.steps) {
                const bool waits = s.kind == BoundKind::arrive || s.kind == BoundKind::get;
                waited += waits;
                loaded += waits && ahead > 0;
                ahead -= ahead > 0;
                if (s.kind != BoundKind::gather) continue;
                EXPECT_EQ(ahead, 0u);
                ahead = s.message;
                ++gathers;
            }
            EXPECT_EQ(waited, static_cast<std::size_t>(size - 1));
            const bool many = size > 16 && operation != Operation::alltoall;  // which waits for one after the other
            EXPECT_EQ(loaded, many ? waited : 0) << name << ", " << size << " ranks";
            EXPECT_EQ(gathers, many ? (waited + 15) / 16 : 0);
        }
}

// Many levels take many offers: what has no room for them is refused.
TEST(BoundOffers, AreRefusedByAllWhereThereAreTooMany) {
    const Groups groups(128, How::staged);
    const Algorithm& slots = *find_algorithm(Operation::allreduce, "multi-lane");
    for (const bool deep : {false, true}) {
        Problem problem = problems(slots, 128, {3})[0];
        problem.topology = Topology::from(deep ? "2x2x2x2x2x2x2" : "2x8x8", 128);
        std::size_t refused = 0;
        for (problem.rank = 0; problem.rank < 128; problem.rank += 21) {
            try {
                groups.all[static_cast<std::size_t>(problem.rank)]->plan(slots, problem);
            } catch (const std::invalid_argument& e) {
                EXPECT_NE(std::string(e.what()).find("there is room for 8"), std::string::npos) << e.what();
                ++refused;
            }
        }
        EXPECT_EQ(refused, deep ? 7u : 0u);
    }
}

// A plan takes other lengths in place of a new one, where it can; that is each rank's own affair.
TEST_P(Bound, OtherLengths) {
    std::size_t rebound = 0;
    for_each_algorithm({2, 3, 5, 8}, [&](const Groups& groups, const Algorithm& algorithm, int size) {
        if (family_of(algorithm.operation) != Family::blocks_v) return;
        const std::vector<Problem> all = problems(algorithm, size, {3, 0, 2, 9, 200, 20000});
        for (const Problem& before : all)
            for (Problem after : all) {
                if (after.root != before.root || !(after.parameters == before.parameters)) continue;
                std::vector<Plan> plans = plans_of(groups, algorithm, before);
                for (after.rank = 0; after.rank < static_cast<int>(plans.size()); ++after.rank) {
                    Plan& plan = plans[static_cast<std::size_t>(after.rank)];
                    const Group& group = *groups.all[static_cast<std::size_t>(after.rank)];
                    if (group.rebind_counts(problem_at(after, after.rank), plan)) ++rebound;
                    else plan = plan_of(group, algorithm, after);
                    hear_lengths(group, plan, after);
                }
                const std::string wrong = plans.empty() ? "" : proved(algorithm, after, plans, groups.slots, {}, GetParam() == How::lent);
                ASSERT_EQ(wrong, "");
            }
    });
    EXPECT_GT(rebound, GetParam() == How::mapped ? 0u : 1000u);
}

// A block of the first plan needs more than one of the areas that many ranks have: all ranks agree nevertheless whether a rank may.
TEST(BoundAreas, AreAsManyForOtherLengthsAsForANewPlan) {
    constexpr int size = 17;
    const Groups groups(size, How::oversubscribed);
    const Algorithm& algorithm = *find_algorithm(Operation::allgatherv, "all-read-all");
    const std::size_t area = groups.layout.staging_bytes();
    const auto with = [&](std::size_t bytes) {
        Problem p = problems(algorithm, size, {3})[0];
        for (Block& block : p.blocks) block.bytes = bytes;
        lay_side_by_side(p);
        return p;
    };
    const Problem before = with(area + 8);
    Problem after = with(area / 2);
    std::vector<Plan> plans = plans_of(groups, algorithm, before);
    ASSERT_TRUE(plans.front().parts.front().schedule.in_many_areas);
    for (after.rank = 0; after.rank < size; ++after.rank) {
        Plan& plan = plans[static_cast<std::size_t>(after.rank)];
        const Group& group = *groups.all[static_cast<std::size_t>(after.rank)];
        if (after.rank % 2) plan = plan_of(group, algorithm, after);
        else ASSERT_TRUE(group.rebind_counts(problem_at(after, after.rank), plan));
    }
    EXPECT_EQ(proved(algorithm, after, plans, groups.slots), "");
}

// What tells the lengths of many ranks' blocks has room as well.
TEST(BoundAreas, HoldTheLengthsThatTravelFirst) {
    const Groups groups(390, How::copied_once);
    const Algorithm& algorithm = *find_algorithm(Operation::alltoallv, "by-levels");
    Problem problem = problems(algorithm, 390, {3})[0];
    problem.topology = Topology::from("3x130", 390);
    for (problem.rank = 0; problem.rank < 390; problem.rank += 43) {
        const Plan plan = plan_of(*groups.all[static_cast<std::size_t>(problem.rank)], algorithm, problem);
        ASSERT_TRUE(plan.lengths);
        const BoundSchedule& first = plan.parts.front().schedule;
        EXPECT_GT(first.staged, groups.layout.staging_bytes());
        EXPECT_TRUE(first.in_many_areas) << "rank " << problem.rank;
    }
}

// The root of a tree with so many children puts the vector to all of them.
TEST(BoundAreas, HoldWhatARootPutsToManyChildren) {
    const Groups groups(16, How::staged);
    const Algorithm& algorithm = *find_algorithm(Operation::allreduce, "binomial");
    Problem problem{.operation = Operation::allreduce, .size = 16, .bytes = 17600, .element = 4};
    problem.parameters.degree = 16;
    const std::vector<Plan> plans = plans_of(groups, algorithm, problem);
    ASSERT_EQ(plans.size(), 16u);
    EXPECT_EQ(proved(algorithm, problem, plans, groups.slots), "");
}

// Nor does a piece that somebody asked for go where each of many peers would have less than a line.
TEST(BoundAreas, HoldNoPiecesOfManyRanks) {
    const Groups groups(257, How::copied_once);
    const Algorithm& algorithm = *find_algorithm(Operation::alltoallv, "all-write-all");
    Problem problem = problems(algorithm, 257, {64})[0];
    problem.parameters.piece = 4096;
    problem.rank = 1;
    const Plan plan = plan_of(*groups.all[1], algorithm, problem);
    EXPECT_LE(plan.parts.front().schedule.staged, groups.layout.staging_bytes());
}

// What the step before it makes is not lent unless that was asked for.
TEST(BoundOffers, OfSumsAreStaged) {
    const Groups groups(2, How::lent);
    constexpr std::size_t n = 65536;
    for (const bool lends_sums : {false, true})
        for (const std::size_t offered : {std::size_t{0}, std::size_t{64}, n}) {
            Builder b(Problem{.operation = Operation::allreduce, .size = 2, .bytes = 2 * n});
            b.offer_to_all_others(input(), n);
            b.get(1, 0, input(), output(), n);
            b.next_round();
            b.combine(input(), output(), n, Order::before);
            b.next_round();
            b.offer_to_all_others(output(offered), n);
            BoundSchedule bound;
            bind(b.finish(), 0, 0, 1, groups.layout, {.lent_from = n, .lends_sums = lends_sums}, bound);
            EXPECT_EQ(bound.steps.back().lendable, lends_sums || offered != 0) << offered;
        }
}

std::string name(const ::testing::TestParamInfo<How>& how) {
    constexpr const char* names[] = {"Staged", "CopiedOnce", "Mapped", "Oversubscribed", "Lent"};
    return names[static_cast<int>(how.param)];
}
INSTANTIATE_TEST_SUITE_P(All, Bound, ::testing::Values(How::staged, How::copied_once, How::mapped, How::oversubscribed, How::lent), name);

// Nothing is run here.
struct Nowhere final : RemoteTransport {
    explicit Nowhere(RemoteRoom room) : room_(room) {}
    RemoteRoom room() const override { return room_; }
    void begin() override {}
    void send(const RemoteMessage&, const std::byte*) override {}
    void receive(const RemoteMessage&, std::byte*) override {}
    bool round_over(std::uint32_t) override { return true; }
    bool operation_over(std::uint32_t) override { return true; }
    const RemoteRoom room_;  // over messages as much as wanted
};

// Ranks on several nodes.
struct Nodes {
    Nodes(const Domains& domains, bool single_copy) {
        for (int n = 0; n < domains.count(); ++n) {
            const int size = static_cast<int>(domains.members(n).size());
            const Aligned& segment = *segments.emplace_back(std::make_unique<Aligned>(Group::segment_bytes(size)));
            layouts.push_back(std::make_unique<SharedSlots>(segment.base, size));
        }
        for (int r = 0; r < domains.ranks(); ++r) {
            const auto node = static_cast<std::size_t>(domains.of(r));
            slots.push_back(layouts[node].get());
            all.push_back(std::make_unique<Group>(std::span(segments[node]->base, segments[node]->size), domains.local(r),
                                                  static_cast<int>(domains.members(domains.of(r)).size()), single_copy, Waiter::Hooks{}, 1, 1));
            all.back()->reach_by(Transport::message, std::make_shared<Nowhere>(RemoteRoom{}));
            all.back()->reach_by(Transport::rma_flush, std::make_shared<Nowhere>(RemoteRoom{16 * 1024, 256}));
        }
    }
    std::vector<std::unique_ptr<Aligned>> segments;
    std::vector<std::unique_ptr<SharedSlots>> layouts;
    std::vector<const SharedSlots*> slots;  // of each rank
    std::vector<std::unique_ptr<Group>> all;
};

// By digits, on large nodes and on uneven ones: all ranks find the same room, and what they stage fits it.
TEST(BoundAreas, HoldTheLengthsThatTravelByDigits) {
    const Algorithm& algorithm = *find_algorithm(Operation::alltoallv, "bruck");
    for (const auto& [topology, degree] : {std::pair("4x128", 0), {"16x64", 0}, {"100+28", 3}, {"30+100+30", 8}, {"5x1", 0}}) {
        Problem problem{.operation = Operation::alltoallv, .size = Topology::places(topology)};
        problem.parameters.degree = degree;
        problem.topology = Topology::from(topology, problem.size);
        problem.sends.assign(static_cast<std::size_t>(problem.size), {0, 3});
        problem.blocks = problem.sends;
        const Domains& domains = problem.topology.level(0);
        const Nodes nodes(domains, true);
        const Reach reach{.nodes = &domains, .single_copy = true};
        for (problem.rank = 0; problem.rank < problem.size; problem.rank += problem.rank % 32 == 1 ? 31 : 1) {
            const Group& group = *nodes.all[static_cast<std::size_t>(problem.rank)];
            ASSERT_TRUE(group.plans_any(algorithm, reach, {})) << topology;
            EXPECT_TRUE(group.plan(algorithm, problem, reach, {}).lengths) << topology;
        }
    }
}

// The catalogue where the ranks are on nodes, each rank on one of its own included.
void prove_on_nodes(const Topology& topology, bool single_copy, std::initializer_list<std::size_t> elements,
                    Transport transport = Transport::message) {
    std::size_t number = 0;  // of what was proved
    const Domains& domains = topology.level(0);
    const Nodes nodes(domains, single_copy);
    const Reach reach{.nodes = &domains, .transport = transport, .single_copy = single_copy};
    for (const Algorithm& algorithm : algorithms()) {
        // Where lengths are not known all go by messages alone: nobody could tell how to cut what is staged.
        const bool blind = (algorithm.operation == Operation::gatherv || algorithm.operation == Operation::scatterv) && !lengths_first(algorithm);
        if (blind && !reach.no_one_is_near()) continue;
        if (lengths_are_unknown(algorithm.operation) && reach.over_windows()) continue;
        for (Problem whole : problems(algorithm, domains.ranks(), elements)) {
            whole.topology = topology;
            std::vector<Plan> plans;
            std::size_t refused = 0;
            for (int r = 0; r < whole.size; ++r) {
                try {
                    whole.rank = r;
                    const Group& group = *nodes.all[static_cast<std::size_t>(r)];
                    plans.push_back(plan_of(group, algorithm, whole, reach));
                    hear_lengths(group, plans.back(), whole);
                } catch (const std::invalid_argument&) {
                    ++refused;
                }
            }
            ASSERT_TRUE(refused == 0 || plans.empty()) << text(algorithm, whole) << ": refused by some ranks alone";
            if (refused > 0) continue;
            ASSERT_EQ(proved(algorithm, whole, plans, nodes.slots, reach), "") << "on " << topology.text();
            ++number;
        }
    }
    EXPECT_GT(number, 100u) << topology.text();
}

TEST(BoundOnNodes, TheCatalogue) {
    for (const char* text : {"2x1", "2x2", "2x2:cyclic", "1+3", "3+2", "2x2x2", "2x4:cyclic", "3+1+4", "4x3", "17+3"})
        for (const bool single_copy : {false, true})
            prove_on_nodes(Topology::from(text, Topology::places(text)), single_copy, {3, 2500});
}

// What is put into a window of 16 KiB is cut into pieces that fit.
TEST(BoundOnNodesOverWindows, TheCatalogue) {
    for (const char* text : {"2x2", "1+3", "2x4:cyclic", "4x1", "17+3"})
        for (const bool single_copy : {false, true})
            prove_on_nodes(Topology::from(text, Topology::places(text)), single_copy, {3, 2500}, Transport::rma_flush);
}

TEST(BoundToMessages, TheCatalogue) {
    for (const char* text : {"1x1", "2x1", "3x1", "4x1", "5x1", "8x1", "13x1"})
        prove_on_nodes(Topology::from(text, Topology::places(text)), false, {0, 3, 300});
}

}  // namespace
}  // namespace fanlight::testing

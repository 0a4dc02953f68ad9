// Every algorithm on the shared executor, the ranks being threads: run under ThreadSanitizer
// as well.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "catalogue.h"
#include "execute/called.h"
#include "execute/copy.h"
#include "on_threads.h"
#include "schedule/all_ranks.h"

namespace fanlight::testing {
namespace {

class Catalogue : public ::testing::TestWithParam<const Algorithm*> {};

// Under ThreadSanitizer a switch of threads costs far more: fewer ranks and lengths, the same paths.
#ifdef __SANITIZE_THREAD__
const std::vector<int> sizes{2, 3}, mapped_sizes{2, 3};
const std::vector<std::size_t> lengths{1, 15, 2049, 5001};
constexpr int mixed_calls = 100, rebound_calls = 10;
#else
const std::vector<int> sizes{1, 2, 3, 5, 8}, mapped_sizes{2, 3, 5};
const std::vector<std::size_t> lengths{0, 1, 5, 14, 15, 300, 2049, 9001};
constexpr int mixed_calls = 600, rebound_calls = 40;
#endif

std::string run_all(const Algorithm& a, int size, bool single_copy, bool lent = false) {
    // One element, inline, just beyond, several pieces, directly read.
    const auto all = problems(a, size, lengths);
    return on_threads(size, single_copy, [&](Group& g) {
        for (const Problem& p : all)
            if (std::string w = run_and_check(g, a, p, 3, nullptr, lent); !w.empty()) return w;
        return std::string();
    });
}

TEST_P(Catalogue, StagedIsRight) {
    for (int size : sizes) EXPECT_EQ(run_all(*GetParam(), size, false), "") << size << " ranks";
}

TEST_P(Catalogue, SingleCopyIsRight) {
    for (int size : sizes) EXPECT_EQ(run_all(*GetParam(), size, true), "") << size << " ranks";
}

// What would be staged is read where it lies.
TEST_P(Catalogue, LentIsRight) {
    for (int size : sizes) EXPECT_EQ(run_all(*GetParam(), size, false, true), "") << size << " ranks";
}

// More than a cache holds, in many places and in few, between others.
TEST(Long, IsRightWhereverItIsStaged) {
    for (const int size : {2, 3})
        for (const auto& [operation, name] : {std::pair(Operation::bcast, "one-to-all"), {Operation::allgather, "all-read-all"}, {Operation::alltoall, "all-write-all"}, {Operation::gather, "all-write-root"}}) {
            const Algorithm& a = *find_algorithm(operation, name);
            auto all = problems(a, size, {own_cache() + 77, 64 * 1024 + 7, 300});
            std::erase_if(all, [](const Problem& p) { return p.root != 0 || p.parameters.piece; });
            EXPECT_EQ(on_threads(size, false, [&](Group& g) {
                for (const Problem& p : all)
                    if (std::string w = run_and_check(g, a, p, 11); !w.empty()) return w;
                return std::string();
            }), "") << name << ", " << size << " ranks";
        }
}

// A reader that follows what is still being staged.
TEST(Long, IsCombinedInWholeElements) {
    constexpr std::size_t element = 24, words = 3 * 12001;
    const Combiner add{[](const void* left, const void* right, void* into, std::size_t bytes, const void*) {
        if (bytes % element != 0) throw std::logic_error("a part of an element");
        for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i)
            static_cast<std::uint64_t*>(into)[i] = static_cast<const std::uint64_t*>(left)[i] + static_cast<const std::uint64_t*>(right)[i];
    }, nullptr};
    const Algorithm& a = *find_algorithm(Operation::reduce, "root-reads-all");
    EXPECT_EQ(on_threads(2, false, [&](Group& g) {
        Problem p{.operation = a.operation, .size = 2, .bytes = words * sizeof(std::uint64_t)};
        p.rank = g.rank();
        p.element = element;
        std::vector<std::uint64_t> in(words), out(words);
        const Plan plan = g.plan(a, p);
        for (std::uint64_t call = 0; call < 20; ++call) {
            for (std::size_t i = 0; i < words; ++i) in[i] = call + i * static_cast<std::uint64_t>(g.rank() + 1);
            if (g.rank() == 1) std::this_thread::sleep_for(std::chrono::microseconds(200));  // its reader waits
            g.run(plan, in.data(), out.data(), &add);
            for (std::size_t i = 0; i < words && g.rank() == 0; ++i)
                if (out[i] != 2 * call + 3 * i) return "call " + std::to_string(call) + ", word " + std::to_string(i);
        }
        return std::string();
    }), "");
}

// An error of the program's that nobody sees: what is there comes.
TEST(Long, AReaderThatExpectsTooMuchDoesNotWaitForIt) {
    const Algorithm& a = *find_algorithm(Operation::gatherv, "root-reads-all");
    EXPECT_EQ(on_threads(2, false, [&](Group& g) {
        const std::size_t sent = 64 * 1024, expected = g.rank() == 0 ? sent + 4096 : sent;
        Problem p{.operation = a.operation, .size = 2, .blocks = {{0, 8}, {8, expected}}};
        p.rank = g.rank();
        const std::vector<std::byte> in(sent, std::byte{7});
        std::vector<std::byte> out(8 + expected);
        g.run(g.plan(a, p), in.data(), out.data(), nullptr);
        return std::string(g.rank() == 0 && std::count(out.begin() + 8, out.begin() + 8 + sent, std::byte{7}) != sent ? "not all came" : "");
    }), "");
}

std::vector<const Algorithm*> all_algorithms() {
    std::vector<const Algorithm*> all;
    for (const Algorithm& a : algorithms()) all.push_back(&a);
    return all;
}

std::string name_of(const ::testing::TestParamInfo<const Algorithm*>& info) {
    std::string name(to_string(info.param->operation));
    name.append("_").append(info.param->name);
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, Catalogue, ::testing::ValuesIn(all_algorithms()), name_of);

#ifndef __SANITIZE_THREAD__
// More ranks than one word of a register has bits, of which two share one then (1 and 65), and than there
// are slots and cells for with fewer.
void many_ranks(std::initializer_list<std::pair<int, bool>> groups) {
    for (const auto& [size, single_copy] : groups) {
        auto all = problems_of_all(size, {15});
        for (auto& some : all)
            std::erase_if(some, [size = size](const Problem& p) {
                return (has_root(p.operation) && p.root != size - 1) || (size > 33 && p.parameters.piece);
            });
        EXPECT_EQ(on_threads(size, single_copy, [&](Group& g) {
            for (std::size_t i = 0; i < all.size(); ++i) {
                // So many threads on a few cores take long: of each operation one algorithm.
                if (size > 66 && i > 0 && algorithms()[i].operation == algorithms()[i - 1].operation) continue;
                // These blocks grow with the ranks: all threads' together would take gigabytes.
                if (size > 129 && family_of(algorithms()[i].operation) == Family::blocks_v) continue;
                for (const Problem& p : all[i])
                    if (std::string w = run_and_check(g, algorithms()[i], p, size > 33 ? 1 : 2); !w.empty()) return w;
            }
            return std::string();
        }), "") << size << " ranks";
    }
}
TEST(ManyRanks, AreRight) { many_ranks({{33, true}, {66, false}, {129, false}}); }
// Takes long: pytest tests/mpi --long.
TEST(ManyRanks, DISABLED_AreRightUpTo512) { many_ranks({{66, true}, {129, true}, {257, false}, {512, true}}); }
#endif

// On buffers that all members have mapped, with little room for scratch, so that some run in pieces.
class MappedCatalogue : public ::testing::TestWithParam<const Algorithm*> {};

TEST_P(MappedCatalogue, IsRight) {
    const Algorithm& a = *GetParam();
    constexpr std::size_t longest = 5001;
    for (int size : mapped_sizes) {
        const auto all = problems(a, size, {1, 15, 300, longest});
        const std::size_t most = longest * 8 * static_cast<std::size_t>(size);
        Aligned memory(2 * most * static_cast<std::size_t>(size));
        std::vector<std::byte*> input, output;
        for (std::size_t r = 0; r < static_cast<std::size_t>(size); ++r) {
            input.push_back(memory.base + 2 * r * most);
            output.push_back(input.back() + most);
        }
        const Mapped mapped{input, output};
        EXPECT_EQ(on_threads(size, false, [&](Group& g) {
            for (const Problem& p : all)
                if (std::string w = run_and_check(g, a, p, 3, &mapped); !w.empty()) return w;
            return std::string();
        }, 4096), "") << size << " ranks";
    }
}

// There are none of the others on global memory.
std::vector<const Algorithm*> of_equal_lengths() {
    std::vector<const Algorithm*> all = all_algorithms();
    std::erase_if(all, [](const Algorithm* a) {
        return family_of(a->operation) == Family::blocks_v || family_of(a->operation) == Family::neighbors;
    });
    return all;
}

INSTANTIATE_TEST_SUITE_P(All, MappedCatalogue, ::testing::ValuesIn(of_equal_lengths()), name_of);

// Different operations after each other share slots, cells and staging.
TEST(Sequence, OperationsMixed) {
    for (const auto& [size, single_copy] : {std::pair{2, true}, {3, false}, {3, true}, {5, false}, {5, true}}) {
        const auto all = problems_of_all(size, {1, 15, 2049, 5001});
        EXPECT_EQ(on_threads(size, single_copy, [&](Group& g) {
            unsigned state = 12345;
            for (int i = 0; i < mixed_calls; ++i) {
                state = state * 1664525 + 1013904223;
                const std::size_t which = (state >> 8) % all.size();
                if (all[which].empty()) continue;
                const Problem& p = all[which][(state >> 20) % all[which].size()];
                if (std::string w = run_and_check(g, algorithms()[which], p, 1 + static_cast<int>(state >> 30)); !w.empty()) return w;
            }
            return std::string();
        }), "") << size << " ranks";
    }
}

// Through levels inside a node, other lengths and roots in each call: no rank is told more than MPI tells it.
TEST(Lengths, TravelFirst) {
    for (const Operation operation : {Operation::gatherv, Operation::scatterv})
        for (const char* levels : {"2x2", "2x2x2", "1+3:cyclic", "2x(3+1)"})
            for (const bool single_copy : {false, true}) {
                const int size = Topology::places(levels);
                EXPECT_EQ(on_threads(size, single_copy, [&](Group& g) {
                    unsigned state = 4711;
                    const auto next = [&](std::size_t end) { return static_cast<std::size_t>((state = state * 1664525 + 1013904223) >> 8) % end; };
                    Problem p;
                    p.operation = operation;
                    p.size = size;
                    p.topology = Topology::from(levels, size);
                    Plan plan;
                    for (int call = 0; call < rebound_calls; ++call) {
                        if (call % 3 == 0) p.root = static_cast<int>(next(static_cast<std::size_t>(size)));
                        p.blocks.clear();
                        constexpr std::size_t those[] = {0, 8, 113, 4096, 4097, 70000};
                        for (int r = 0; r < size; ++r) p.blocks.push_back({0, those[next(std::size(those))]});
                        lay_side_by_side(p);
                        p.rank = g.rank();
                        auto [in, out, expected] = data_of(p, call);
                        Problem own = p;
                        for (int r = 0; r < size && p.rank != p.root; ++r)
                            own.blocks[static_cast<std::size_t>(r)] = {0, r == p.rank ? p.block(r).bytes : 0};
                        if (call % 3 == 0 || !g.rebind_counts(own, plan)) g.plan(*find_algorithm(operation, "by-levels"), own, plan);
                        g.run(plan, in.data(), out.data(), nullptr);
                        if (out != expected) return "rank " + std::to_string(p.rank) + ", call " + std::to_string(call);
                    }
                    return std::string();
                }), "") << to_string(operation) << " on " << levels << (single_copy ? ", single copy" : "");
            }
}

// An alltoallv by digits: also where a rank's own blocks stay as they were and those that it passes on do not.
TEST(Lengths, TravelByDigitsFirst) {
    for (const auto& [size, degree] : {std::pair{3, 0}, {4, 3}, {5, 0}, {7, 3}, {8, 0}})
        for (const bool single_copy : {false, true}) {
            EXPECT_EQ(on_threads(size, single_copy, [&](Group& g) {
                unsigned state = 4711;
                const auto next = [&](std::size_t end) { return static_cast<std::size_t>((state = state * 1664525 + 1013904223) >> 8) % end; };
                constexpr std::size_t those[] = {0, 8, 113, 4096, 4097, 70000};
                Problem p{.operation = Operation::alltoallv, .size = size};
                p.parameters.degree = degree;
                std::vector<std::size_t> lengths(static_cast<std::size_t>(size * size));
                Plan plan;
                for (int call = 0; call < rebound_calls; ++call) {
                    if (call % 4 == 0)
                        for (std::size_t& length : lengths) length = those[next(std::size(those))];
                    else lengths[next(lengths.size())] = those[next(std::size(those))];
                    set_exchange(p, lengths);
                    p.rank = g.rank();
                    auto [in, out, expected] = data_of(p, call);
                    Problem own = problem_at(p, p.rank);
                    own.passing.clear();
                    if (call == 0 || !g.rebind_counts(own, plan)) g.plan(*find_algorithm(p.operation, "bruck"), own, plan);
                    g.run(plan, in.data(), out.data(), nullptr);
                    if (out != expected) return "rank " + std::to_string(p.rank) + ", call " + std::to_string(call);
                }
                return std::string();
            }), "") << size << " ranks, degree " << degree << (single_copy ? ", single copy" : "");
        }
}

// A plan takes blocks of other lengths, up to what it says, and does what a new one would.
TEST(RebindCounts, AnyLengths) {
    for (const char* name : {"allgatherv:all-read-all", "gatherv:all-write-root", "scatterv:root-writes-all", "alltoallv:all-write-all"})
        for (const auto& [size, single_copy] : {std::pair{2, false}, {3, false}, {3, true}, {5, false}, {17, false}}) {
            const std::string text(name);
            const auto colon = text.find(':');
            const Algorithm& a = *find_algorithm(operation_from(text.substr(0, colon)), text.substr(colon + 1));
            EXPECT_EQ(on_threads(size, single_copy, [&](Group& g) {
                unsigned state = 4711;
                const auto next = [&](std::size_t end) { return static_cast<std::size_t>((state = state * 1664525 + 1013904223) >> 8) % end; };
                Problem p;
                p.operation = a.operation;
                p.size = size;
                p.root = size / 2;
                Plan plan;
                const auto with_lengths = [&](std::size_t longest, bool all = false) {
                    const std::size_t those[] = {0, 8, 112, 113, 4000, std::max<std::size_t>(longest, 1)};
                    std::vector<std::size_t> lengths;
                    for (int i = 0; i < size * size; ++i) lengths.push_back(all ? longest : those[next(6)]);
                    if (a.operation == Operation::alltoallv) return set_exchange(p, lengths, 5);
                    lengths.resize(static_cast<std::size_t>(size));
                    p.blocks.clear();
                    for (const std::size_t bytes : lengths) p.blocks.push_back({0, bytes});
                    lay_side_by_side(p);
                };
                with_lengths(0);
                p.rank = g.rank();
                plan = plan_of(g, a, p);
                if (plan.rebinds_counts_to == 0) return std::string("no plan for other lengths");
                for (int call = 0; call < rebound_calls; ++call) {
                    with_lengths(call == 3 || call == 4 ? plan.rebinds_counts_to : 3000, call == 4);
                    if (!g.rebind_counts(problem_at(p, g.rank()), plan)) return std::string("it takes no others");
                    auto [in, out, expected] = data_of(p, call);
                    g.run(plan, in.data(), out.data(), nullptr);
                    if (out != expected) return "wrong result in call " + std::to_string(call);
                }
                with_lengths(plan.rebinds_counts_to);
                for (Block& b : p.blocks) b.bytes = plan.rebinds_counts_to + 1;
                if (g.rebind_counts(problem_at(p, g.rank()), plan)) return std::string("it takes one that is too long");
                return std::string();
            }), "") << name << ", " << size << " ranks";
        }
}

// A root that runs far ahead of slow readers must not overwrite what they have not read, in the first areas or in the later
// ones, which it has when it has staged many long messages.
TEST(Credits, RootRunsAhead) {
    const Algorithm& bcast = *find_algorithm(Operation::bcast, "one-to-all");
    EXPECT_EQ(on_threads(3, false, [&](Group& g) {
        std::vector<Plan> plans;
        const std::size_t lengths[] = {1000, 5000, 2000, 20000, 1000};
        for (const std::size_t bytes : lengths) plans.push_back(g.plan(bcast, Problem{.operation = Operation::bcast, .rank = g.rank(), .size = 3, .bytes = bytes}));
        for (std::size_t i = 0; i < 500; ++i) {
            // Also many of one length.
            const std::size_t kind = i / 100 % 2 ? i % std::size(lengths) : i / 100 % std::size(lengths);
            std::vector<std::byte> v(lengths[kind], g.rank() == 0 ? static_cast<std::byte>(i) : std::byte{0xee});
            if (g.rank() == 2 && i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            g.run(plans[kind], v.data(), v.data(), nullptr);
            for (std::byte b : v)
                if (b != static_cast<std::byte>(i)) return "overwritten in call " + std::to_string(i);
        }
        return std::string();
    }), "");
}

// Pieces that are lent are waited for together, behind the last one, unless they are in scratch memory.
TEST(Lent, IsTheOwnersOwnAgainBehindTheCall) {
    constexpr std::size_t longest = 300000;
    for (const auto& [operation, algorithm] : {std::pair{Operation::bcast, "one-to-all"}, {Operation::bcast, "binomial"}, {Operation::allgather, "all-read-all"},
                                               {Operation::alltoall, "all-write-all"}, {Operation::scatter, "root-writes-all"}, {Operation::allreduce, "circulant"}})
        EXPECT_EQ(on_threads(3, false, [&](Group& g) {
            Problem p;
            p.operation = operation;
            p.size = 3;
            p.bytes = longest;
            if (reduces(operation)) p.element = 8, p.bytes = longest / 8 * 8;
            for (int i = 0; i < 10; ++i) {
                if (g.rank() == i % 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));
                if (std::string w = run_and_check(g, *find_algorithm(operation, algorithm), p, 1, nullptr, true); !w.empty()) return w;
            }
            const bool lends = operation != Operation::bcast && operation != Operation::scatter;
            if (g.lent() == 0 && (lends || g.rank() == 0)) return std::string("nothing was lent");
            return std::string();
        }), "") << to_string(operation) << " " << algorithm;
}

// And not round in the few places of one area, where its reader's cache would still have each line.
TEST(LaterAreas, AreAllTakenByALongRowOfPuts) {
    constexpr int size = 2;
    const Aligned segment(Group::segment_bytes(size));
    const Algorithm& a = *find_algorithm(Operation::gatherv, "all-write-root");
    Problem p{.operation = a.operation, .size = size};
    p.blocks = {{0, 8}, {8, 1 << 20}};
    const auto gather = [&](int rank) {
        Group group(std::span(segment.base, segment.size), rank, size, false, Waiter::Hooks{});
        EXPECT_EQ(run_and_check(group, a, p, 8), "");
    };
    std::thread other(gather, 1);
    gather(0);
    other.join();
    const SharedSlots slots(segment.base, size);
    const auto staging = slots.later_staging(1);
    std::size_t taken = 0;
    for (std::size_t at = 0; at < staging.size(); at += slots.staging_bytes())
        taken += std::ranges::any_of(staging.subspan(at, slots.staging_bytes()), [](std::byte b) { return b != std::byte{0}; });
    EXPECT_GE(taken, slots.later_areas() - 2) << "four calls took so many";
}

// All areas together have room for 2^20 bytes, a cell's length has not.
TEST(Puts, AreShorterThanALengthCanSay) {
    constexpr int size = 2, cores = 1;
    const Aligned segment(Group::segment_bytes(size));
    const Algorithm& a = *find_algorithm(Operation::alltoall, "all-write-all");
    Problem p{.operation = a.operation, .size = size, .bytes = 1 << 20};
    p.parameters.piece = p.bytes;
    const auto exchange = [&](int rank) {
        Group group(std::span(segment.base, segment.size), rank, size, false, Waiter::Hooks{}, size, cores);
        EXPECT_EQ(run_and_check(group, a, p, 1), "");
    };
    std::thread other(exchange, 1);
    exchange(0);
    other.join();
}

// More puts to one rank in a round than there are cells for, both ways: more than 16 ranks have two.
TEST(Credits, ManyEdgesBetweenTwoRanks) {
    Problem whole;
    whole.operation = Operation::neighbor_alltoallv;
    whole.size = 17;
    std::vector<Edge> edges;
    for (int r = 0; r < whole.size; ++r)
        for (int i = 0; i < 5; ++i)
            for (int to : {(r + 1) % whole.size, (r + whole.size - 1) % whole.size}) edges.push_back({.from = r, .to = to, .bytes = 8});
    set_edges(whole, std::move(edges));
    EXPECT_EQ(on_threads(whole.size, false, [&](Group& g) {
        return run_and_check(g, *find_algorithm(whole.operation, "all-write-all"), whole, 3);
    }), "");
}

// As long as a piece, so that they might be read, and together longer than the staging.
TEST(Neighborhoods, ManyEdgesBetweenTwoRanks) {
    Problem whole;
    whole.operation = Operation::neighbor_alltoall;
    whole.size = 2;
    std::vector<Edge> edges;
    for (int i = 0; i < 10; ++i)
        for (int r = 0; r < whole.size; ++r) edges.push_back({.from = r, .to = 1 - r, .bytes = 32768});
    set_edges(whole, std::move(edges));
    EXPECT_EQ(on_threads(whole.size, false, [&](Group& g) {
        return run_and_check(g, *find_algorithm(whole.operation, "all-read-all"), whole, 3);
    }), "");
}

// Ranks that call one operation with different lengths all get an error, and so from then on.
TEST(MismatchedCollectives, IsFoundByAll) {
    for (const auto& [operation, algorithm] : {std::pair{Operation::allreduce, "recursive-doubling"}, {Operation::allgather, "all-read-all"}})
        EXPECT_EQ(on_threads(3, false, [&](Group& g) {
            Problem p;
            p.operation = operation;
            p.size = 3;
            p.rank = g.rank();
            p.bytes = 8;
            const Plan right = g.plan(*find_algorithm(operation, algorithm), p);
            p.bytes = g.rank() == 1 ? 800 : 8;
            const Plan wrong = g.plan(*find_algorithm(operation, algorithm), p);
            std::vector<std::byte> in(800), out(2400);
            const Combiner first{[](const void* left, const void*, void* into, std::size_t bytes, const void*) { std::memmove(into, left, bytes); }, nullptr};
            for (int i = 0; i < 100; ++i) g.run(right, in.data(), out.data(), &first);
            for (const Plan* plan : {&wrong, &right}) {
                try {
                    g.run(*plan, in.data(), out.data(), &first);
                    return std::string("no error");
                } catch (const MismatchedCollectives&) {
                }
            }
            return std::string();
        }), "") << algorithm;
}

TEST(MismatchedCollectives, ReduceScattersOfOtherLengthsDiffer) {
    Problem p;
    p.operation = Operation::reduce_scatter;
    p.size = 2;
    p.blocks = {{0, 8}, {8, 16}};
    Problem longer = p;
    longer.blocks = {{0, 8}, {8, 24}};
    EXPECT_NE(called(p), called(longer));
}

// Where one length ends a piece of the other is longer.
TEST(MismatchedCollectives, IsFoundByTheReaderOfPieces) {
    constexpr std::size_t piece = 32768;
    for (const auto& [sent, expected] : {std::pair{2 * piece, 3 * piece}, {3 * piece, 2 * piece}, {5 * piece, 4 * piece}})
        EXPECT_EQ(on_threads(2, false, [&](Group& g) {
            Problem p;
            p.operation = Operation::gatherv;
            p.size = 2;
            p.rank = g.rank();
            p.blocks = {{0, 0}, {0, g.rank() == 0 ? expected : sent}};
            std::vector<std::byte> in(5 * piece), out(5 * piece);
            const Algorithm& algorithm = *find_algorithm(p.operation, "all-write-root");
            try {
                g.run(g.plan(algorithm, p), in.data(), out.data(), nullptr);
                if (g.rank() == 0) return std::string("no error");  // the writer may have nothing to wait for
            } catch (const MismatchedCollectives&) {
            }
            return std::string();
        }), "") << sent << " sent, " << expected << " expected";
}

}  // namespace
}  // namespace fanlight::testing

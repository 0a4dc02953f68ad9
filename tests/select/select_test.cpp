#include "select/select.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms/level_names.h"

namespace fanlight {
namespace {

// A rule file that lives as long as the test.
class RuleFile {
public:
    explicit RuleFile(const std::string& text)
        : path_(testing::TempDir() + "fanlight-rules-" + std::to_string(getpid()) + ".txt") {
        std::ofstream(path_) << text;
    }
    ~RuleFile() { remove(path_.c_str()); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

Situation situation(Operation operation, std::size_t bytes, int ranks) {
    Situation s;
    s.operation = operation;
    s.bytes = bytes;
    s.ranks = ranks;
    s.mpi = "mpich";
    return s;
}

std::string chosen(const Selector& selector, const Situation& s) {
    const Choice c = selector.choose(s);
    return c.algorithm ? std::string(text_of(*c.algorithm, c.parameters.levels)) : "native";
}

std::string error_of(const std::string& forced, const std::string& rules) {
    const RuleFile file(rules);
    try {
        Selector(forced, file.path());
    } catch (const std::invalid_argument& e) {
        std::string message = e.what();
        const std::size_t at = message.find(file.path());
        if (at != std::string::npos) message.replace(at, file.path().size(), "FILE");
        return message;
    }
    return "";
}

void expect_all_in(const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts)
        EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
}

TEST(Selector, BuiltInRulesServeEveryOperation) {
    const Selector selector("", "");
    for (std::size_t i = 0; i < operation_count(); ++i)
        for (const int ranks : {1, 2, 3, 8, 16, 17, 31, 64, 128, 129, 512})
            for (const std::size_t bytes : {0, 8, 4096, 65536, 1 << 20, 64 << 20})
                for (const bool oversubscribed : {false, true}) {
                    Situation s = situation(static_cast<Operation>(i), bytes, ranks);
                    s.oversubscribed = oversubscribed;
                    s.commutative = ranks % 2 == 0;
                    const Choice c = selector.choose(s);
                    ASSERT_NE(c.algorithm, nullptr)
                        << to_string(s.operation) << " " << bytes << " bytes, " << ranks;
                    EXPECT_EQ(c.algorithm->operation, s.operation);
                    EXPECT_TRUE(c.rule.starts_with("built-in rules:")) << c.rule;
                }
    EXPECT_EQ(chosen(selector, situation(Operation::barrier, 0, 5000)), "dissemination");
}

TEST(Selector, TheFirstRuleThatFitsTakesEffect) {
    const RuleFile file(
        "# measured on a Tuesday\n"
        "\n"
        "bcast bytes=..2K ranks=2..8 -> binomial degree=3 # comment\r\n"
        "bcast bytes=2K..4K -> root_writes_all piece=64K shift=2\n"
        "bcast bytes=1M oversubscribed=yes -> binomial\n"
        "bcast bytes=1M single_copy=no -> native\n"
        "bcast bytes=1M mpi=openmpi -> pruned-ring\n");
    const Selector selector("", file.path());
    const auto bcast = [](std::size_t bytes, int ranks) {
        return situation(Operation::bcast, bytes, ranks);
    };
    const Choice small = selector.choose(bcast(2048, 8));
    EXPECT_EQ(small.algorithm->name, "binomial");
    EXPECT_EQ(small.parameters.degree, 3);
    EXPECT_EQ(small.rule, file.path() + ":3: bcast bytes=..2K ranks=2..8 -> binomial degree=3");
    EXPECT_EQ(chosen(selector, bcast(2049, 8)), "root-writes-all");
    const Choice nine = selector.choose(bcast(2048, 9));
    EXPECT_EQ(nine.algorithm->name, "root-writes-all");
    EXPECT_EQ(nine.parameters.piece, 65536u);
    EXPECT_EQ(nine.parameters.shift, 2);
    EXPECT_EQ(chosen(selector, bcast(2047, 9)), "one-to-all");  // built-in

    Situation s = bcast(1 << 20, 4);
    EXPECT_EQ(chosen(selector, s), "one-to-all");  // built-in
    s.mpi = "openmpi";
    EXPECT_EQ(chosen(selector, s), "pruned-ring");
    s.single_copy = false;
    EXPECT_EQ(chosen(selector, s), "native");
    s.oversubscribed = true;
    EXPECT_EQ(chosen(selector, s), "binomial");
}

TEST(Selector, ARuleWhoseAlgorithmCannotServeIsPassedOver) {
    const RuleFile file("allgather -> recursive-doubling\nallgather -> ring\n");
    const Selector selector("", file.path());
    EXPECT_EQ(chosen(selector, situation(Operation::allgather, 8, 8)), "recursive-doubling");
    EXPECT_EQ(chosen(selector, situation(Operation::allgather, 8, 7)), "ring");
}

TEST(Selector, ForcedComesFirstAndIsNeverReplaced) {
    const Selector selector(" bcast:binomial , allreduce:native,allgather:recursive_doubling,", "");
    const Choice c = selector.choose(situation(Operation::bcast, 8, 3));
    EXPECT_EQ(c.algorithm->name, "binomial");
    EXPECT_EQ(c.rule, "FANLIGHT_ALGORITHM: bcast:binomial");
    EXPECT_EQ(chosen(selector, situation(Operation::allreduce, 8, 3)), "native");
    EXPECT_EQ(chosen(selector, situation(Operation::allgather, 8, 4)), "recursive-doubling");
    EXPECT_THROW(selector.choose(situation(Operation::allgather, 8, 3)), std::invalid_argument);

    const Selector commuting("reduce_scatter_block:pairwise", "");
    Situation s = situation(Operation::reduce_scatter_block, 8, 3);
    EXPECT_EQ(chosen(commuting, s), "pairwise");
    s.commutative = false;
    try {
        commuting.choose(s);
        FAIL() << "a forced algorithm that a restriction forbids must throw";
    } catch (const std::invalid_argument& e) {
        expect_all_in(e.what(), {"FANLIGHT_ALGORITHM: reduce_scatter_block:pairwise", "commutes"});
    }
}

TEST(Selector, ForcedAlgorithmsTakeParameters) {
    const Selector selector("bcast:tree(degree=4, piece=8K),reduce:tree( ),allreduce:native, scatter:root_writes_all(shift=2)", "");
    const Choice c = selector.choose(situation(Operation::bcast, 8, 3));
    EXPECT_EQ(c.algorithm->name, "tree");
    EXPECT_EQ(c.parameters, (Parameters{.degree = 4, .piece = 8192}));
    EXPECT_EQ(c.rule, "FANLIGHT_ALGORITHM: bcast:tree(degree=4, piece=8K)");
    EXPECT_EQ(selector.choose(situation(Operation::reduce, 8, 3)).parameters, Parameters{});
    EXPECT_EQ(chosen(selector, situation(Operation::allreduce, 8, 3)), "native");
    EXPECT_EQ(selector.choose(situation(Operation::scatter, 8, 3)).parameters.shift, 2);
    const Selector minimum("bcast:scatter-allgather(minimum=2K)", "");
    EXPECT_EQ(minimum.choose(situation(Operation::bcast, 8, 3)).parameters.minimum, 2048u);

    expect_all_in(error_of("bcast:tree(shift=1)", ""), {"bcast:tree has no parameter 'shift'", "degree, piece"});
    expect_all_in(error_of("bcast:tree(degree=4", ""), {"expected ')'"});
    expect_all_in(error_of("bcast:tree(degree)", ""), {"'degree' needs a value"});
    expect_all_in(error_of("bcast:tree foo (degree=4)", ""), {"no parameter 'foo'"});
    expect_all_in(error_of("", "bcast -> tree shift=1 (degree=4)"), {"no parameter 'shift'"});
    expect_all_in(error_of("bcast:native(piece=4K)", ""), {"native has no parameters"});
    expect_all_in(error_of("bcast:(piece=4K)", ""), {"unknown algorithm ''"});
}

TEST(Selector, ForcedErrorsListWhatExists) {
    expect_all_in(error_of("bcst:binomial", ""),
                  {"FANLIGHT_ALGORITHM: bcst:binomial", "'bcst'", "bcast", "allreduce"});
    expect_all_in(error_of("bcast:binomal", ""),
                  {"unknown algorithm 'binomal' for bcast", "binomial", "one-to-all", "native"});
    expect_all_in(error_of("bcast", ""), {"expected operation:algorithm"});
    expect_all_in(error_of("bcast:binomial,bcast:native", ""), {"forced twice"});
}

TEST(Selector, RuleErrorsNameFileLineAndWhatIsAllowed) {
    expect_all_in(error_of("", "\n# x\nbcst -> binomial\n"), {"FILE:3:", "'bcst'", "allreduce"});
    expect_all_in(error_of("", "bcast -> binomal"), {"FILE:1:", "'binomal'", "one-to-all"});
    expect_all_in(error_of("", "bcast byte=3 -> binomial"),
                  {"FILE:1: unknown condition 'byte'", "bytes, ranks, nodes, oversubscribed"});
    expect_all_in(error_of("", "bcast -> binomial depth=3"),
                  {"bcast:binomial has no parameter 'depth'", "there are degree, piece"});
    expect_all_in(error_of("", "bcast -> one-to-all degree=3"),
                  {"bcast:one-to-all has no parameter 'degree'", "piece, shift"});
    expect_all_in(error_of("", "barrier -> dissemination piece=3"),
                  {"barrier:dissemination has no parameter"});
    expect_all_in(error_of("", "bcast -> tree degree=4G"), {"degree=4G: too large"});
    expect_all_in(error_of("", "bcast mpi=lam -> native"), {"'lam'", "impi, openmpi, mvapich, cray, mpich, other"});
    expect_all_in(error_of("", "bcast oversubscribed=1 -> native"), {"expected yes or no"});
    expect_all_in(error_of("", "bcast bytes=2K..1K -> native"), {"empty"});
    expect_all_in(error_of("", "bcast bytes=.. -> native"), {"expected numbers"});
    expect_all_in(error_of("", "bcast bytes=1x.. -> native"), {"bytes=1x..", "expected numbers"});
    expect_all_in(error_of("", "bcast ranks=..4G -> native"), {"too large"});
    expect_all_in(error_of("", "bcast bytes= -> native"), {"'bytes' needs a value"});
    expect_all_in(error_of("", "bcast bytes=1 bytes=2 -> native"), {"given twice"});
    expect_all_in(error_of("", "bcast -> native piece=4K"), {"native has no parameters"});
    expect_all_in(error_of("", "bcast bytes=1"), {"no algorithm"});
    expect_all_in(error_of("", "bcast ->"), {"no algorithm"});
}

TEST(Selector, NodesAndTransports) {
    const RuleFile file("allgather nodes=2..3 -> recursive-doubling transport=rma-flush\n"
                        "allgather nodes=4.. -> ring flat=yes\n"
                        "allgather nodes=2..3 -> all-read-all flat=no\n"
                        "allgather -> bruck\n");
    const Selector selector("", file.path());
    Situation s = situation(Operation::allgather, 8, 6);
    EXPECT_EQ(chosen(selector, s), "bruck");
    EXPECT_FALSE(selector.choose(s).transport);
    s.nodes = 2;
    EXPECT_EQ(chosen(selector, s), "bruck") << "six ranks are no power of two, and there are no levels";
    s.by_levels = true;
    EXPECT_EQ(chosen(selector, s), "by-levels(recursive-doubling)") << "it runs between two nodes";
    EXPECT_EQ(selector.choose(s).transport, Transport::rma_flush);
    EXPECT_FALSE(selector.choose(s).flat);
    s.nodes = 3;
    EXPECT_EQ(chosen(selector, s), "by-levels(all-read-all)") << "three nodes are no power of two";
    s.nodes = 4;
    EXPECT_EQ(chosen(selector, s), "ring");
    EXPECT_TRUE(selector.choose(s).flat);
    const auto error_of_forced = [&](const char* forced) {
        try {
            Selector(forced, "").choose(s);
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    s.nodes = 3;
    expect_all_in(error_of_forced("allgather:recursive-doubling"), {"there are 3 (one of each node; flat=yes takes all ranks)"});
    s.nodes = 2;
    expect_all_in(error_of_forced("allgather:neighbor-exchange"), {"cannot run between nodes; flat=yes"});
    EXPECT_EQ(error_of_forced("allgather:neighbor-exchange(flat=yes)"), "");
    expect_all_in(error_of("", "bcast -> binomial transport=pigeon"), {"unknown transport 'pigeon'", "message, rma-fence"});
    expect_all_in(error_of("", "bcast -> binomial flat=2"), {"flat=2: expected yes or no"});
}

TEST(Selector, AlgorithmsOfTheLevels) {
    const RuleFile file("allreduce bytes=..2K -> by-levels(root-reads-all, recursive-doubling) flat=no\n"
                        "allreduce -> by-levels(ring)\n");
    const Selector selector("", file.path()), forced("allreduce:by-levels(all-read-all,ring),bcast:by-levels(one-to-all,binomial,flat=no)", "");
    const auto names = [](const Selector& s, Operation o, std::size_t bytes) { return names_of_levels(s.choose(situation(o, bytes, 8)).parameters.levels); };
    using Names = std::vector<std::string_view>;
    EXPECT_EQ(names(selector, Operation::allreduce, 8), (Names{"root-reads-all", "recursive-doubling"}));
    EXPECT_TRUE(selector.choose(situation(Operation::allreduce, 8, 8)).by_levels);
    EXPECT_EQ(names(selector, Operation::allreduce, 8192), (Names{"ring"}));
    EXPECT_EQ(names(forced, Operation::allreduce, 8), (Names{"all-read-all", "ring"}));
    EXPECT_EQ(names(forced, Operation::bcast, 8), (Names{"one-to-all", "binomial"}));
    expect_all_in(error_of("", "allreduce -> by-levels(ring, no-such)"), {"'no-such' between the outermost domains of allreduce"});
    expect_all_in(error_of("", "allreduce -> by-levels(ring"), {"expected ')'"});
    expect_all_in(error_of("", "allreduce -> tree binomial"), {"has no parameter 'binomial'"});
}

TEST(Selector, Lanes) {
    const RuleFile file("reduce-scatter-block nodes=2.. -> recursive-halving lanes=yes\n"
                        "reduce-scatter-block nodes=2.. -> pairwise\n");
    const Selector selector("", file.path()), forced("reduce-scatter-block:pairwise(lanes=yes)", "");
    Situation s = situation(Operation::reduce_scatter_block, 8, 6);
    s.nodes = 2;
    EXPECT_EQ(chosen(selector, s), "pairwise");
    EXPECT_FALSE(selector.choose(s).lanes);
    EXPECT_FALSE(forced.choose(s).lanes);
    s.lanes = true;
    EXPECT_EQ(chosen(selector, s), "multi-lane(recursive-halving)") << "in each lane are two ranks";
    EXPECT_TRUE(selector.choose(s).lanes);
    EXPECT_TRUE(forced.choose(s).lanes);
    expect_all_in(error_of("", "bcast -> binomial lanes=yes flat=yes"), {"exclude each other"});
    const Selector in_windows("reduce-scatter-block:pairwise(lanes=yes,transport=rma-lock)", "");
    EXPECT_TRUE(in_windows.choose(s).lanes) << "over any transport";
}

TEST(Selector, WhatTheUserForcesComesBeforeWhatTheProgramChose) {
    const Selector selector("bcast:binomial", "", "bcast:linear,allreduce:tree(degree=2)");
    EXPECT_EQ(selector.choose(situation(Operation::bcast, 64, 4)).algorithm->name, "binomial");
    const Choice chosen = selector.choose(situation(Operation::allreduce, 64, 4));
    EXPECT_EQ(chosen.algorithm->name, "tree");
    EXPECT_EQ(chosen.rule, "fanlight_set_algorithm: allreduce:tree(degree=2)");
}

TEST(Selector, AMissingFileIsAnError) {
    try {
        Selector("", "/does/not/exist");
        FAIL();
    } catch (const std::invalid_argument& e) {
        expect_all_in(e.what(), {"FANLIGHT_RULES", "/does/not/exist", "No such file"});
    }
    EXPECT_THROW(Selector("", "/tmp"), std::invalid_argument);
}

TEST(Selector, ChoosingTakesMicroseconds) {
    const Selector selector("", "");
    const Situation s = situation(Operation::reduce_scatter_block, 1 << 20, 128);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) selector.choose(s);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    RecordProperty("nanoseconds", static_cast<int>(took.count() * 1e6));
    EXPECT_LT(took.count() / 1000, 50e-6);
}

// Between the user's and the built-in ones; what is said of one names file, line and measurement.
TEST(Select, MeasuredRules) {
    const TunedRules tuned{"/x/mpich.rules", "# a comment\nbcast bytes=..1K ranks=4 -> binomial  # 1.0 us, MPI 2.0 us\nbcast bytes=2K..4K ranks=4 -> linear\n"};
    const RuleFile users("bcast bytes=..64 -> native\n");
    const Selector selector("", users.path(), "", tuned);
    EXPECT_EQ(chosen(selector, situation(Operation::bcast, 64, 4)), "native");
    EXPECT_EQ(chosen(selector, situation(Operation::bcast, 1024, 4)), "binomial");
    EXPECT_EQ(selector.choose(situation(Operation::bcast, 1024, 4)).rule,
              "/x/mpich.rules:2: bcast bytes=..1K ranks=4 -> binomial  # 1.0 us, MPI 2.0 us");
    EXPECT_EQ(selector.choose(situation(Operation::bcast, 4096, 4)).rule, "/x/mpich.rules:3: bcast bytes=2K..4K ranks=4 -> linear");
    // What was not measured: the built-in ones.
    EXPECT_EQ(chosen(selector, situation(Operation::bcast, 1500, 4)), chosen(Selector("", ""), situation(Operation::bcast, 1500, 4)));
    EXPECT_EQ(chosen(selector, situation(Operation::bcast, 1024, 3)), chosen(Selector("", ""), situation(Operation::bcast, 1024, 3)));
    EXPECT_THROW(Selector("", "", "", {"f", "bcast -> no-such-thing"}), std::invalid_argument);
}

}  // namespace
}  // namespace fanlight
